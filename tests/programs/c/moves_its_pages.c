/* Moves mappings in both ways that leave the old one where it is, and in the one that does not: it has 112 MiB at most. Moves the break,
   too: by 1 MiB in all, after the first time. */
#include "say.h"
#include <sys/mman.h>

enum { MIB = 1 << 20 };

static void *mapped(size_t size, int flags) {
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) exit(1);
  return pages;
}

int main(void) {
  /* Another one of the same pages. */
  void *shared = mapped(8 * MIB, MAP_SHARED);
  if (mremap(shared, 0, 8 * MIB, MREMAP_MAYMOVE) == MAP_FAILED) return 2;
  /* The pages go, and the addresses stay. */
  void *kept = mapped(16 * MIB, MAP_PRIVATE);
  void *moved = mremap(kept, 16 * MIB, 16 * MIB, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  if (moved == MAP_FAILED) return 77; /* before Linux 5.7 */
  memset(kept, 1, MIB);
  void *grown = mapped(32 * MIB, MAP_PRIVATE);
  if (mremap(grown, 32 * MIB, 64 * MIB, MREMAP_MAYMOVE) == MAP_FAILED) return 3;
  munmap(kept, 16 * MIB);
  munmap(moved, 16 * MIB);
  /* libc says that the last two have moved the break, which they have not. */
  if (sbrk(4096) == (void *)-1 || sbrk(MIB) == (void *)-1) return 4;
  if (brk((void *)4096) != 0 || sbrk(-(intptr_t)1024 * MIB) == (void *)-1) return 78;
  return 0;
}
