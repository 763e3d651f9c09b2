/* Works in two threads, a tenth of a second of processor time in each, in a region and before a mark, and keeps a block of each. */
#include "sysprof_memprof.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static void *volatile kept[2];

static long thread_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void work(void) {
  volatile unsigned long sink = 0;
  while (thread_ms() < 100)
    for (int i = 0; i < 10000; i++) sink += i * 7;
}

static void *helper(void *size) {
  prctl(PR_SET_NAME, "helper");
  kept[1] = malloc((size_t)size);
  work();
  return NULL;
}

int main(void) {
  pthread_t thread;
  memprof_mark_begin("load");
  kept[0] = malloc(1001);
  pthread_create(&thread, NULL, helper, (void *)1002);
  work();
  pthread_join(thread, NULL);
  memprof_mark_end("load");
  memprof_mark("loaded");
  return 0;
}
