/* Loads a library, calls it, and unloads it, so often, in a thread for each library.

     loads_in_threads TIMES LIBRARY... */
#include "say.h"
#include <dlfcn.h>
#include <pthread.h>

static int times;

static void *come_and_go(void *name) {
  for (int left = times; left > 0; left--) {
    void *library = dlopen(name, RTLD_NOW);
    if (library == NULL) _exit(2);
    void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
    free(lend());
    dlclose(library);
  }
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t threads[8];
  if (count < 3 || count > 10) return 1;
  times = atoi(arguments[1]);
  for (int each = 2; each < count; each++) pthread_create(&threads[each - 2], NULL, come_and_go, arguments[each]);
  for (int each = 2; each < count; each++) pthread_join(threads[each - 2], NULL);
  return 0;
}
