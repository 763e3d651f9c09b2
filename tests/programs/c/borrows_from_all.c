/* Loads each library of its arguments and keeps a block that it lends, and one that code made at run time gives. */
#define _GNU_SOURCE
#include "made_code.h"
#include "say.h"
#include <dlfcn.h>
#include <sys/mman.h>

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    void *library = dlopen(arguments[i], RTLD_NOW);
    if (library == NULL) return 1;
    void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
    void *volatile block = lend();
    (void)block;
  }
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 2;
  void *volatile made = make(code)(7005);
  (void)made;
  return 0;
}
