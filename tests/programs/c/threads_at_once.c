/* As many threads at the same time as the argument says, each with one block of its own that main frees. */
#include "say.h"
#include <pthread.h>

enum { MOST = 1000 };

static pthread_barrier_t all_here;
static void *blocks[MOST];

static void *work(void *number) {
  blocks[(uintptr_t)number] = malloc(400);
  pthread_barrier_wait(&all_here);
  return NULL;
}

int main(int count, char **arguments) {
  static pthread_t threads[MOST];
  int wanted = count > 1 ? atoi(arguments[1]) : 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 16);
  pthread_barrier_init(&all_here, NULL, (unsigned)wanted);
  for (int i = 0; i < wanted; i++) {
    if (pthread_create(&threads[i], &small, work, (void *)(uintptr_t)i) != 0) return 1;
  }
  for (int i = 0; i < wanted; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < wanted; i++) free(blocks[i]);
  return 0;
}
