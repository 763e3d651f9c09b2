/* Allocates by itself, directly and by way of an address, and from when it is told to go on by a library that it loads then, until it
   is told to stop.

     loads_a_library_late PAGE LIBRARY */
#include "page.h"
#include <dlfcn.h>
#include <unistd.h>

#ifdef OWN_MALLOC
/* An allocator of the executable's own. */
void *malloc(size_t size) {
  static _Alignas(16) char arena[1 << 16];
  static size_t used;
  used = (used + size + 15) % (sizeof arena / 2) & ~(size_t)15;
  return arena + used;
}

void free(void *block) { (void)block; }
#endif

#ifdef HOLDS_LOCK
/* A thread that stays in the loader until the program is told to go on. */
#include <link.h>
#include <pthread.h>

static int hold(struct dl_phdr_info *info, size_t size, void *data) {
  (void)info, (void)size, (void)data;
  await(&page->go);
  return 1;
}

static void *stay(void *unused) {
  dl_iterate_phdr(hold, NULL);
  return unused;
}
#endif

static void *(*volatile take)(size_t);

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  take = malloc;
#ifdef HOLDS_LOCK
  pthread_t thread;
  pthread_create(&thread, NULL, stay, NULL);
#endif
  void *(*lend)(void) = NULL;
  for (uint64_t calls = 0; !get(&page->stop); calls++) {
    set(&page->threads[0].mallocs_begun, calls + 1);
    free(malloc(1100));
    free(take(1101));
    if (lend) free(lend());
    set(&page->threads[0].mallocs_done, calls + 1);
    if (!lend && get(&page->go)) {
      void *library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
      if (library == NULL) return 2;
      lend = (void *(*)(void))dlsym(library, "lend");
    }
    if (calls % 100 == 0) usleep(2000);
  }
  set(&page->done, 1);
  return 5;
}
