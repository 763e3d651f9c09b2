/* Allocates all the time in one thread; in another, a realloc takes most of a second, again and again.

     naps_within_realloc PAGE */
#include "page.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

extern void (*in_realloc)(void);

static void nap(void) { usleep(700 * 1000); }

static void *grow(void *unused) {
  while (get(&page->stop) == 0) free(realloc(malloc(1700), 1800));
  return unused;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  in_realloc = nap;
  pthread_t thread;
  if (pthread_create(&thread, NULL, grow, NULL) != 0) return 2;
  for (uint64_t done = 0; get(&page->stop) == 0; done++) {
    set(&page->threads[0].mallocs_begun, done + 1);
    free(malloc(100));
    set(&page->threads[0].mallocs_done, done + 1);
    usleep(50);
  }
  pthread_join(thread, NULL);
  return 5;
}
