/* Opens a library that binds to libc past everybody else (RTLD_DEEPBIND), when it is opened or at its first calls: frees blocks of its
   making, and has it free blocks of ours.

     binds_deeply LIBRARY */
#include "say.h"
#include <dlfcn.h>

#ifndef BINDING
#define BINDING RTLD_NOW
#endif

int main(int count, char **arguments) {
  if (count < 2) return 1;
  void *library = dlopen(arguments[1], BINDING | RTLD_DEEPBIND);
  if (library == NULL) return 2;
  void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
  void (*take_back)(void *) = (void (*)(void *))dlsym(library, "take_back");
  for (int i = 0; i < 100; i++) {
    free(lend());
    take_back(malloc(2802));
    free(malloc(2803));
  }
  dlclose(library);
  printf("freed\n");
  return 0;
}
