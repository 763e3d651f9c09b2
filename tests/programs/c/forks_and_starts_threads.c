/* Forks a child that keeps 1,000 blocks, has threads of its own take turns meanwhile, and lets the child keep 1,000 more and end with 7. */
#include "say.h"
#include <pthread.h>
#include <sys/wait.h>

enum { BLOCKS = 1000, THREADS = 20 };
static void *kept[2 * BLOCKS];

static void keep(int from) {
  for (int at = from; at < from + BLOCKS; at++) kept[at] = malloc(2101);
}

static void *churn(void *unused) {
  for (int turn = 0; turn < BLOCKS; turn++) free(malloc(2102));
  return unused;
}

int main(void) {
  int up[2], down[2], status;
  char byte = 0;
  if (pipe(up) || pipe(down)) return 2;
  churn(NULL);
  pid_t child = fork();
  if (child == 0) {
    keep(0);
    if (write(up[1], &byte, 1) != 1 || read(down[0], &byte, 1) != 1) _exit(2);
    keep(BLOCKS);
    _exit(7);
  }
  if (read(up[0], &byte, 1) != 1) return 2;
  for (int turn = 0; turn < THREADS; turn++) {
    pthread_t thread;
    pthread_create(&thread, NULL, churn, NULL);
    pthread_join(thread, NULL);
  }
  if (write(down[1], &byte, 1) != 1 || waitpid(child, &status, 0) != child) return 2;
  return WEXITSTATUS(status);
}
