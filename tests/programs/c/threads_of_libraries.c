/* Loads each library in turn, has a thread of its own call it, and unloads it again. Says where the function was.

     threads_of_libraries LIBRARY…      with `void allocate(void)` */
#include "say.h"
#include <dlfcn.h>
#include <pthread.h>

static void *call(void *function) {
  ((void (*)(void))function)();
  return NULL;
}

int main(int count, char **arguments) {
  void *before = NULL;
  for (int at = 1; at < count; at++) {
    void *library = dlopen(arguments[at], RTLD_NOW);
    if (library == NULL) return 3;
    void *function = dlsym(library, "allocate");
    if (at > 1) puts(function == before ? "the same address" : "another address");
    before = function;
    pthread_t thread;
    pthread_create(&thread, NULL, call, function);
    pthread_join(thread, NULL);
    dlclose(library);
  }
  return 0;
}
