/* Has a thread that waits three seconds for the child of its vfork, from when it is told to go on, and tells how long it stood still
   after that. Loads a library meanwhile, which it calls from then on until it is told to stop.

     vforks_at_length PAGE LIBRARY */
#include "page.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static volatile uint64_t ended_ns;

static void *make_child(void *unused) {
  await(&page->go);
  if (vfork() == 0) {
    sleep(3);
    ended_ns = now_ns();
    _exit(0);
  }
  set(&page->longest_ns, now_ns() - ended_ns);
  return unused;
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, make_child, NULL);
  void *(*lend)(void) = NULL;
  for (uint64_t calls = 0; !get(&page->stop); calls++) {
    set(&page->threads[0].mallocs_begun, calls + 1);
    free(malloc(1100));
    if (lend) free(lend());
    set(&page->threads[0].mallocs_done, calls + 1);
    if (!lend && get(&page->go)) {
      /* The thread has got there. */
      usleep(100000);
      void *library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
      if (library == NULL) return 2;
      lend = (void *(*)(void))dlsym(library, "lend");
    }
    if (calls % 100 == 0) usleep(2000);
  }
  pthread_join(thread, NULL);
  set(&page->done, 1);
  return 5;
}
