/* Loads each library of its arguments and keeps a block that it lends, and one that code made at run time gives. */
#define _GNU_SOURCE
#include "say.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

/* push rbp; mov rbp, rsp; mov rax, <malloc>; call rax; pop rbp; ret */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};

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
  void *(*function)(size_t) = malloc;
  memcpy(code, CODE, sizeof CODE);
  memcpy(code + 6, &function, sizeof function);
  void *volatile made = ((void *(*)(size_t))(void *)code)(7005);
  (void)made;
  return 0;
}
