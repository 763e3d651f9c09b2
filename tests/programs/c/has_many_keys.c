/* A server that has made forty keys for values of threads, of which it uses none. Ends as others do if libc has not asked for memory
   for 32 values of a thread, 16 bytes each, as it does for the first value beyond those that it has room for.

     has_many_keys PAGE */
#include "page.h"
#include <pthread.h>

extern void *__libc_calloc(size_t count, size_t size);
static uint64_t used;

void *calloc(size_t count, size_t size) {
  if (count == 32 && size == 16) set(&used, 1);
  return __libc_calloc(count, size);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  pthread_key_t key;
  for (int i = 0; i < 40; i++) pthread_key_create(&key, NULL);
  while (!get(&page->stop)) {
    free(malloc(2500));
    set(&page->threads[0].mallocs_done, get(&page->threads[0].mallocs_done) + 1);
    usleep(10);
  }
  return get(&used) ? 6 : 5;
}
