/* Calls a thousand times, then waits for a thread that waits for the child of its vfork until it is told to go on, and calls again until
   it is told to stop.

     joins_a_vforking_thread PAGE */
#include "page.h"
#include <pthread.h>

static void *make_child(void *unused) {
  if (vfork() == 0) {
    set(&page->done, 1);
    await(&page->go);
    _exit(0);
  }
  return unused;
}

static __attribute__((noinline)) void call(uint64_t calls) {
  set(&page->threads[0].mallocs_begun, calls);
  free(malloc(1100));
  set(&page->threads[0].mallocs_done, calls);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  uint64_t calls = 1;
  for (; calls <= 1000; calls++) call(calls);
  pthread_t thread;
  pthread_create(&thread, NULL, make_child, NULL);
  pthread_join(thread, NULL);
  for (; !get(&page->stop); calls++) {
    call(calls);
    usleep(1000);
  }
  return 5;
}
