/* Uses a character set that libc loads a module for, and others until libc unloads that; then loads a library that lies where the
   module's code was.

     closes_charsets LIBRARY      with `void *lend(void)` */
#include "say.h"
#include <dlfcn.h>
#include <iconv.h>
#include <sys/mman.h>

static void convert(const char *set) {
  iconv_t converter = iconv_open(set, "UTF-8");
  if (converter == (iconv_t)-1) exit(3);
  char in[] = "hello", out[64], *from = in, *to = out;
  size_t left = 5, room = sizeof out;
  iconv(converter, &from, &left, &to, &room);
  iconv_close(converter);
}

/* Where a file's code ends and where its last mapping does. */
static int find(const char *name, uintptr_t *code_end, uintptr_t *end) {
  char line[512];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (strstr(line, name)) {
      char rights[8];
      uintptr_t from;
      sscanf(line, "%lx-%lx %4s", &from, end, rights);
      if (rights[2] == 'x') *code_end = *end;
      found = 1;
    }
  fclose(maps);
  return found;
}

int main(int count, char **arguments) {
  uintptr_t code_end = 0, end = 0, unused;
  if (count != 2) return 2;
  convert("UTF-7");
  if (!find("/UTF-7.so", &code_end, &end)) return 3;
  for (int turn = 0; turn < 6; turn++) convert("KOI8-R");
  if (find("/UTF-7.so", &unused, &unused)) return 3;
  void *above = mmap(NULL, end - code_end, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) return 4;
  munmap(above, end - code_end);
  free(((void *(*)(void))dlsym(library, "lend"))());
  return 0;
}
