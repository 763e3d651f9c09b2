/* Prints what a process can see of itself: its descriptors, threads, signal handlers, streams and errno, in main, in a
   child, and in a thread after others have come and gone. */
#include "say.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

static int entries(const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) return -1;
  int count = 0;
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

static void show(const char *where) {
  char line[512];
  printf("%s: %d descriptors, %d threads, next descriptor %d\n", where, entries("/proc/self/fd"),
         entries("/proc/self/task"), dup(0));
  /* Its own, not that of the process: libc blocks the signals of a thread while it makes another one. */
  FILE *status = fopen("/proc/thread-self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0) fputs(line, stdout);
    if (strncmp(line, "NoNewPrivs", 10) == 0 || strncmp(line, "Seccomp:", 8) == 0) fputs(line, stdout);
  }
  fclose(status);
}

static void *in_thread(void *where) {
  errno = 123;
  free(malloc(10));
  printf("errno %d\n", errno);
  if (where != NULL) show(where);
  return NULL;
}

int main(void) {
  pthread_t thread;
  show("main");
  for (int i = 0; i < 20; i++) {
    pthread_create(&thread, NULL, in_thread, i == 19 ? "thread" : NULL);
    pthread_join(thread, NULL);
  }
  fflush(stdout);
  if (fork() == 0) {
    show("child");
    return 0;
  }
  wait(NULL);
  show("main again");
  return 0;
}
