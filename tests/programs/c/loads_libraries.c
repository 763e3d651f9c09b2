/* Loads one library after the other, calls it, and unloads it, until the second was where the first had been.

     loads_libraries FIRST SECOND */
#include "say.h"
#include <dlfcn.h>

static void *lend_from(const char *path, void **address) {
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) exit(2);
  void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
  *address = (void *)lend;
  void *block = lend();
  dlclose(library);
  return block;
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  for (int i = 0; i < 100; i++) {
    void *first, *second;
    free(lend_from(arguments[1], &first));
    free(lend_from(arguments[2], &second));
    if (first == second) {
      printf("the same address\n");
      return 0;
    }
  }
  printf("different addresses\n");
  return 0;
}
