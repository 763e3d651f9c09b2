/* Allocates until it is told to stop. When a library asks where it lies, as the agent does when it is loaded, a signal is sent to the
   thread that loads it: its handler begins as soon as signals are let through, and stays until the program is told to go on.

     is_interrupted_in_between PAGE */
#include "page.h"
#include <dlfcn.h>
#include <signal.h>

static void stay(int signal) {
  (void)signal;
  await(&page->go);
}

int dladdr(const void *address, Dl_info *info) {
  int (*next)(const void *, Dl_info *) = dlsym(RTLD_NEXT, "dladdr");
  if (page != NULL && get(&page->go) == 0) raise(SIGUSR1);
  return next(address, info);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  signal(SIGUSR1, stay);
  for (uint64_t calls = 0; !get(&page->stop); calls++) {
    free(malloc(1100));
    set(&page->threads[0].mallocs_done, calls + 1);
    if (calls % 100 == 0) usleep(2000);
  }
  return 5;
}
