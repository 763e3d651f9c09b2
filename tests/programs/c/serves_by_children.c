/* Allocates, and from when it is told to go on, two children that it forks then, until they are told to stop. The children tell
   their pids where frees would be counted.

     serves_by_children PAGE */
#include "page.h"
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 2 };

static void serve(int number) {
  struct page_counts *counts = &page->threads[number];
  for (uint64_t calls = 1; !get(&page->stop); calls++) {
    set(&counts->mallocs_begun, calls);
    free(malloc(1100));
    set(&counts->mallocs_done, calls);
    if (calls % 1000 == 0) usleep(2000);
    if (number == 0 && get(&page->go)) return;
  }
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  serve(0);
  for (int child = 1; child <= CHILDREN; child++) {
    if (fork() == 0) {
      set(&page->threads[child].frees_begun, (uint64_t)getpid());
      serve(child);
      return 0;
    }
  }
  while (!get(&page->stop)) {
    set(&page->threads[0].mallocs_done, get(&page->threads[0].mallocs_done) + 1);
    free(malloc(1101));
    usleep(100);
  }
  for (int child = 1; child <= CHILDREN; child++) wait(NULL);
  set(&page->done, 1);
  return 5;
}
