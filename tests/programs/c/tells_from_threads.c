/* Threads that mark and report to one pool at once, so many times each. */
#include "say.h"
#include "sysprof_memprof.h"
#include <pthread.h>

enum { THREADS = 4 };
static int times;
static pthread_barrier_t barrier;

static void *work(void *number) {
  char *blocks = malloc((size_t)times);
  memprof_pool_t pool;
  pthread_barrier_wait(&barrier);
  /* All of them make it at the same time. */
  pool = memprof_pool("shared");
  for (int turn = 0; turn < times; turn++) {
    memprof_report_alloc(pool, blocks + turn, 16);
    memprof_mark(number);
    if (turn % 2) memprof_report_free(pool, blocks + turn);
  }
  pthread_barrier_wait(&barrier);
  free(blocks);
  return NULL;
}

int main(int count, char **arguments) {
  static char names[THREADS][2] = {"0", "1", "2", "3"};
  pthread_t threads[THREADS];
  times = count > 1 ? atoi(arguments[1]) : 100;
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int thread = 0; thread < THREADS; thread++) pthread_create(&threads[thread], NULL, work, names[thread]);
  for (int thread = 0; thread < THREADS; thread++) pthread_join(threads[thread], NULL);
  return 0;
}
