/* Works in two threads at once, in a region and around a mark, and keeps a block of each. */
#include "sysprof_memprof.h"
#include "work.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void *volatile kept[2];

static void *helper(void *size) {
  prctl(PR_SET_NAME, "helper");
  kept[1] = malloc((size_t)size);
  work(150);
  return NULL;
}

int main(void) {
  pthread_t thread;
  memprof_mark_begin("load");
  kept[0] = malloc(1001);
  pthread_create(&thread, NULL, helper, (void *)1002);
  work(150);
  pthread_join(thread, NULL);
  memprof_mark_end("load");
  memprof_mark("loaded");
  return 0;
}
