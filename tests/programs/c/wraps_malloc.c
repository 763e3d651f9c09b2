/* Exports a malloc and a free that count and go on to those of libc, which they ask the dynamic loader for. */
#include "say.h"
#include <dlfcn.h>

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static int calls;

__attribute__((noipa)) void *malloc(size_t size) {
  if (next_malloc == NULL) next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  calls++;
  return next_malloc(size);
}

__attribute__((noipa)) void free(void *block) {
  if (next_free == NULL) next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  next_free(block);
}

int main(void) {
  for (int turn = 0; turn < 100; turn++) {
    void *volatile block = malloc(777);
    if (turn % 2 == 0) free(block);
  }
  free(strdup("ten bytes"));
  return calls == 101 ? 0 : 1;
}
