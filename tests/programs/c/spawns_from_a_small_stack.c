/* Starts a program from a thread with so much stack, at least what a thread must have, in every way that does not need
   more: with the environment cleared, empty, and large.

     spawns_from_a_small_stack PROGRAM STACK */
#include "say.h"
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

enum { MANY = 20000 };
static char *path, *nothing[] = {NULL}, *many[MANY + 1], names[MANY][16];

static int end(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

static void *start(void *result) {
  pid_t child;
  char *spawn[] = {path, "spawn", NULL}, *large[] = {path, "large", NULL};
  *(int *)result = 1;
  if (posix_spawn(&child, path, NULL, NULL, spawn, nothing) != 0 || end(child) != 0) return NULL;
  child = vfork();
  if (child == 0) execl(path, path, "execl", "3", "4", "5", "6", "7", NULL), _exit(1);
  if (end(child) != 0) return NULL;
  child = vfork();
  if (child == 0) execlp(path, path, "execlp", NULL), _exit(1);
  if (end(child) != 0) return NULL;
  child = vfork();
  if (child == 0) execle(path, path, "execle", "3", "4", "5", "6", "7", NULL, nothing), _exit(1);
  if (end(child) != 0) return NULL;
  child = vfork();
  if (child == 0) execle(path, path, "execle-short", NULL, nothing), _exit(1);
  if (end(child) != 0) return NULL;
  child = vfork();
  if (child == 0) execl("/nonexistent", path, "3", "4", "5", "6", "7", NULL), _exit(0);
  if (end(child) != 0) return NULL;
  if (posix_spawn(&child, path, NULL, NULL, large, many) != 0 || end(child) != 0) return NULL;
  *(int *)result = 0;
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  path = arguments[1];
  long size = atol(arguments[2]), least = sysconf(_SC_THREAD_STACK_MIN);
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], "N%d=%d", i, i);
    many[i] = names[i];
  }
  clearenv();
  pthread_attr_t smallest;
  pthread_t thread;
  int result = 1;
  pthread_attr_init(&smallest);
  pthread_attr_setstacksize(&smallest, (size_t)(size > least ? size : least));
  if (pthread_create(&thread, &smallest, start, &result) != 0) return 1;
  pthread_join(thread, NULL);
  return result;
}
