/* Opens a library by its bare name: the loader finds it beside the program, by the program's own RUNPATH. */
#include "say.h"
#include <dlfcn.h>

int main(void) {
  void *library = dlopen("libbeside.so", RTLD_NOW);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
  free(lend());
  return 0;
}
