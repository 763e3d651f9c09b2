/* Allocates while signals come all the time, in several threads one after the other, and says how many there were. */
#include "say.h"
#include <pthread.h>
#include <signal.h>

extern volatile sig_atomic_t signals;

enum { THREADS = 50, CALLS = 1000 };

static void *allocate(void *unused) {
  for (int i = 0; i < CALLS; i++) free(malloc(1400));
  // libc gives back what it has kept for the thread, past every allocator: a handler that allocates would wait for itself.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  return unused;
}

int main(void) {
  while (signals < 10) continue;
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  printf("%d\n", THREADS * CALLS);
  return 0;
}
