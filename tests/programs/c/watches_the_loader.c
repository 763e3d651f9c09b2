/* An audit library, which the loader keeps in a world of its own, with a libc of its own. */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>

unsigned la_version(unsigned version) {
  free(malloc(3001));
  return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
  (void)map, (void)space, (void)cookie;
  free(malloc(3002));
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name) {
  (void)index, (void)from, (void)to, (void)flags, (void)name;
  return symbol->st_value;
}
