/* Waits to be told, then allocates and frees so many times as fast as it can, and says when it is done.

     burst PAGE TIMES */
#include "page.h"

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  long times = atol(arguments[2]);
  await(&page->go);
  for (long i = 0; i < times; i++) free(malloc(1200));
  set(&page->done, 1);
  await(&page->stop);
  free(malloc(1201));
  return 6;
}
