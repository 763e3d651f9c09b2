/* Allocates now and then, and has a library do so from when it is told to go on, until it is told to stop.

     opens_when_told PAGE LIBRARY */
#include "page.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  void *(*lend)(void) = NULL;
  for (uint64_t calls = 0; !get(&page->stop); calls++) {
    free(malloc(1100));
    if (!lend && get(&page->go)) {
      void *library = dlopen(arguments[2], RTLD_LAZY | RTLD_LOCAL);
      if (library == NULL) return 2;
      lend = (void *(*)(void))dlsym(library, "lend");
    }
    if (lend) free(lend());
    set(&page->threads[0].mallocs_done, calls + 1);
    usleep(calls < 1000 ? 100 : 5000);
  }
  return 5;
}
