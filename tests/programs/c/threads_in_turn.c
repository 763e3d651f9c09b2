/* Two threads, one after the other: the first makes so many allocations and frees, the second keeps a hundred blocks of 1300
   bytes. Says when both are over, and waits to be told to end.

     threads_in_turn PAGE TIMES */
#include "page.h"
#include <pthread.h>

static void *volatile kept;

static void *churn(void *times) {
  for (long i = 0; i < (long)times; i++) free(malloc(1200));
  return NULL;
}

static void *keep(void *unused) {
  for (int i = 0; i < 100; i++) kept = malloc(1300);
  return unused;
}

static void run(void *(*work)(void *), void *argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, argument);
  pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  await(&page->go);
  run(churn, (void *)atol(arguments[2]));
  run(keep, NULL);
  set(&page->done, 1);
  await(&page->stop);
  return 6;
}
