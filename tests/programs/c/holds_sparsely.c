/* Maps a terabyte without reserving it, as sanitizers and managed heaps do, and touches few pages of it, one of which holds a block. Tells
   where, and waits until the page says stop.

     holds_sparsely PAGE */
#include "page.h"

enum { TOUCHED = 64 };
static const uint64_t WHOLE = (uint64_t)1 << 40;

int main(int count, char **words) {
  if (count < 2) return 1;
  map_page(words[1]);
  char *sparse = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (sparse == MAP_FAILED) return 77;
  for (uint64_t i = 0; i < TOUCHED; i++) sparse[i * (WHOLE / TOUCHED)] = 1;
  void **place = (void **)(sparse + 5 * (WHOLE / TOUCHED) + 16);
  *place = malloc(1234);
  printf("place 0x%llx\nblock 0x%llx\n", (unsigned long long)(uintptr_t)place, (unsigned long long)(uintptr_t)*place);
  fflush(stdout);
  set(&page->done, 1);
  await(&page->stop);
  return 0;
}
