/* A second thread allocates while nobody records. When it is told to go on it frees a block, reallocates another and frees that. The
   first one allocates all the time, until it is told to stop.

     frees_first_after_rest PAGE */
#include "page.h"
#include <pthread.h>

enum { BEFORE = 1100, AFTER = 2200 };

static void *second(void *unused) {
  (void)unused;
  /* After the first ones the thread knows that nobody records. */
  for (int i = 0; i < 100; i++) free(malloc(BEFORE));
  void *first = malloc(BEFORE), *other = malloc(BEFORE);
  set(&page->threads[1].mallocs_done, 1000);
  await(&page->go);
  free(first);
  other = realloc(other, AFTER);
  free(other);
  set(&page->done, 1);
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, second, NULL);
  for (uint64_t calls = 1; !get(&page->stop); calls++) {
    free(malloc(24));
    set(&page->threads[0].mallocs_done, calls);
    usleep(20);
  }
  pthread_join(thread, NULL);
  return 5;
}
