/* Sixty-four threads that allocate in lock-step: in each round all of them at once. */
#include "say.h"
#include <pthread.h>

enum { THREADS = 64, ROUNDS = 10000 };

static pthread_barrier_t barrier;

static void *in_step(void *unused) {
  for (int round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&barrier);
    free(malloc(777));
  }
  return unused;
}

int main(void) {
  pthread_t threads[THREADS];
  if (pthread_barrier_init(&barrier, NULL, THREADS) != 0) return 1;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, in_step, NULL) != 0) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return 0;
}
