/* Threads that allocate, resize and free at random, hand blocks to one another, and free everything in the end.

     frees_everything THREADS STEPS */
#include "say.h"
#include <pthread.h>

enum { OWN = 100, SHARED = 64 };

static void *shared[SHARED];
static long steps;

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void *work(void *number) {
  uint64_t state = 88172645463325252u + 7919 * (uint64_t)(uintptr_t)number;
  void *own[OWN] = {NULL};
  for (long step = 0; step < steps; step++) {
    void **place = &own[next_random(&state) % OWN];
    size_t size = next_random(&state) % 2000 + 1;
    switch (next_random(&state) % 6) {
      case 0: free(*place), *place = malloc(size); break;
      case 1: free(*place), *place = calloc(1, size); break;
      case 2: case 3: *place = realloc(*place, size); break;
      case 4: free(*place), *place = NULL; break;
      /* What another thread left there is ours now. */
      case 5: *place = __atomic_exchange_n(&shared[next_random(&state) % SHARED], *place, __ATOMIC_ACQ_REL); break;
    }
  }
  for (int i = 0; i < OWN; i++) free(own[i]);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  int threads = atoi(arguments[1]);
  steps = atol(arguments[2]);
  if (threads == 1) {
    work(NULL);
  } else {
    pthread_t all[64];
    for (int i = 0; i < threads && i < 64; i++) pthread_create(&all[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < threads && i < 64; i++) pthread_join(all[i], NULL);
  }
  for (int i = 0; i < SHARED; i++) free(shared[i]);
  return 0;
}
