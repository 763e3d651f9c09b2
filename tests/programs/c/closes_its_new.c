/* Calls what allocates with the `operator new` of one library from that library, closes it, and from another one then.

     closes_its_new FIRST SECOND      with `void allocate(void)` */
#include "say.h"
#include <dlfcn.h>

static void allocate(void *library) { ((void (*)(void))dlsym(library, "allocate"))(); }

int main(int count, char **arguments) {
  if (count != 3) return 2;
  void *first = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (first == NULL) return 3;
  allocate(first);
  void *second = dlopen(arguments[2], RTLD_NOW);
  if (second == NULL) return 3;
  dlclose(first);
  allocate(second);
  return 0;
}
