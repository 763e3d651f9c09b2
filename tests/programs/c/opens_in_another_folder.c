/* Opens ./lib.so in the folder of its first argument, goes to that of its second, and calls the library there. */
#include "say.h"
#include <dlfcn.h>

int main(int count, char **arguments) {
  if (count != 3 || chdir(arguments[1]) != 0) return 1;
  void *library = dlopen("./lib.so", RTLD_NOW);
  if (library == NULL || chdir(arguments[2]) != 0) return 2;
  void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
  for (int i = 0; i < 10; i++) free(lend());
  return 0;
}
