/* Wants nothing recorded, sets so many marks as fast as it can, and wants everything recorded again. Says so, and when it is told
   to keeps three blocks of 1400 bytes and ends.

     starts_when_full PAGE TIMES */
#include "page.h"
#include "sysprof_memprof.h"

static void *volatile kept;

int main(int count, char **arguments) {
  if (count < 3) return 1;
  map_page(arguments[1]);
  await(&page->go);
  memprof_stop();
  for (long i = 0; i < atol(arguments[2]); i++) memprof_mark("a mark");
  memprof_start();
  set(&page->done, 1);
  await(&page->stop);
  for (int i = 0; i < 3; i++) kept = malloc(1400);
  return 6;
}
