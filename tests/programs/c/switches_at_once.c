/* Threads that start and stop the recording while others allocate; at last it goes on, and one block tells. */
#include "say.h"
#include "sysprof_memprof.h"
#include <pthread.h>

static void *switch_often(void *unused) {
  for (int turn = 0; turn < 2000; turn++) {
    memprof_stop();
    memprof_start();
  }
  return unused;
}

static void *allocate_often(void *unused) {
  void *blocks[8] = {0};
  for (int turn = 0; turn < 20000; turn++) {
    free(blocks[turn % 8]);
    blocks[turn % 8] = realloc(malloc(20), 40 + (size_t)turn % 100);
  }
  for (int block = 0; block < 8; block++) free(blocks[block]);
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int thread = 0; thread < 4; thread++)
    pthread_create(&threads[thread], NULL, thread % 2 ? switch_often : allocate_often, NULL);
  for (int thread = 0; thread < 4; thread++) pthread_join(threads[thread], NULL);
  return malloc(12345) == NULL;
}
