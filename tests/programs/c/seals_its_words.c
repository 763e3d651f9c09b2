/* Seals the words by which it calls functions, so that nobody can make them writable again, and allocates until it is told to stop.
   Ends with 77 where the kernel cannot seal.

     seals_its_words PAGE */
#include "page.h"
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

/* The executable is the first module. */
static int seal(struct dl_phdr_info *info, size_t size, void *result) {
  (void)size;
  for (int at = 0; at < info->dlpi_phnum; at++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[at];
    if (header->p_type != PT_GNU_RELRO) continue;
    uintptr_t start = (info->dlpi_addr + header->p_vaddr) & ~(uintptr_t)4095;
    uintptr_t end = (info->dlpi_addr + header->p_vaddr + header->p_memsz) & ~(uintptr_t)4095;
    *(long *)result = syscall(SYS_mseal, start, end - start, 0);
  }
  return 1;
}

int main(int count, char **arguments) {
  long result = -1;
  if (count < 2) return 1;
  dl_iterate_phdr(seal, &result);
  map_page(arguments[1]);
  for (uint64_t calls = 0; result == 0 && !get(&page->stop); calls++) {
    free(malloc(1100));
    set(&page->threads[0].mallocs_done, calls + 1);
    if (calls % 100 == 0) usleep(2000);
  }
  set(&page->done, 1);
  return result == 0 ? 5 : 77;
}
