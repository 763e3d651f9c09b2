/* Holds the dynamic loader's lock while another thread allocates, with stacks in a library that nobody has met yet; then
   forks while it is held, and the child executes the program in the argument.

     holds_the_loaders_lock PROGRAM LIBRARY */
#include "say.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>

static void *(*lend)(void);
static char *program;
static volatile int is_held, is_done;

static void *allocate(void *nothing) {
  while (!is_held) continue;
  for (int i = 0; i < 100; i++) free(lend());
  pid_t child = fork();
  if (child == 0) {
    free(lend());
    char *arguments[] = {program, "held", NULL}, *environment[] = {NULL};
    execve(program, arguments, environment);
    _exit(1);
  }
  int status = -1;
  if (waitpid(child, &status, 0) == child) is_done = 1 + status;
  return nothing;
}

static int hold(struct dl_phdr_info *info, size_t size, void *data) {
  (void)info, (void)size, (void)data;
  is_held = 1;
  while (!is_done) usleep(100);
  return 1;
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  program = arguments[1];
  void *library = dlopen(arguments[2], RTLD_NOW);
  if (library == NULL) return 2;
  lend = (void *(*)(void))dlsym(library, "lend");
  pthread_t thread;
  pthread_create(&thread, NULL, allocate, NULL);
  dl_iterate_phdr(hold, NULL);
  pthread_join(thread, NULL);
  return is_done - 1;
}
