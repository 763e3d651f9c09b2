/* Opens the library of its first argument, makes its second argument its root, and calls the library there. */
#include "say.h"
#include <dlfcn.h>

int main(int count, char **arguments) {
  if (count != 3) return 1;
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) return 2;
  if (chroot(arguments[2]) != 0 || chdir("/") != 0) return 77;
  void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
  for (int i = 0; i < 10; i++) free(lend());
  return 0;
}
