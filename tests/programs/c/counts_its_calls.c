/* Threads that allocate and free until they are told to stop, or killed, and count each call in a shared page before
   and after it. With REST, each sleeps so many microseconds after every thousand calls, as a service that waits.

     counts_its_calls PAGE THREADS [REST] */
#include "page.h"
#include <pthread.h>
#include <unistd.h>

enum { KEPT = 64, LAP = 1000 };
static useconds_t rest;

static void *work(void *number) {
  struct page_counts *counts = &page->threads[(uintptr_t)number];
  size_t size = 1100 + (uintptr_t)number;
  void *kept[KEPT] = {NULL};
  uint64_t calls = 0, before = now_ns();
  for (; !get(&page->stop); calls++) {
    void **place = &kept[calls * 7919 % KEPT];
    if (*place != NULL) {
      set(&counts->frees_begun, get(&counts->frees_begun) + 1);
      free(*place);
      set(&counts->frees_done, get(&counts->frees_done) + 1);
    }
    set(&counts->mallocs_begun, get(&counts->mallocs_begun) + 1);
    *place = malloc(size);
    set(&counts->mallocs_done, get(&counts->mallocs_done) + 1);
    uint64_t after = now_ns();
    if (after - before > get(&page->longest_ns)) set(&page->longest_ns, after - before);
    before = after;
    if (rest && calls % LAP == 0) {
      usleep(rest);
      before = now_ns();
    }
  }
  for (int i = 0; i < KEPT; i++) free(kept[i]);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  pthread_t threads[PAGE_THREADS];
  int wanted = atoi(arguments[2]);
  if (count > 3) rest = (useconds_t)atoi(arguments[3]);
  for (int i = 0; i < wanted; i++) pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
  for (int i = 0; i < wanted; i++) pthread_join(threads[i], NULL);
  set(&page->done, 1);
  return 5;
}
