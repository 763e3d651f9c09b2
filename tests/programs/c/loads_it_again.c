/* Loads a library, calls it, and unloads it, so often.

     loads_it_again LIBRARY TIMES */
#include "say.h"
#include <dlfcn.h>

int main(int count, char **arguments) {
  if (count < 3) return 1;
  for (int times = atoi(arguments[2]); times > 0; times--) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (library == NULL) return 2;
    void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
    free(lend());
    dlclose(library);
  }
  return 0;
}
