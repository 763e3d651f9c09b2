/* A library that is preloaded behind the agent: its constructor runs before, and makes the first calls that anybody
   makes, by the name that the linker gives and by dlsym. Its malloc goes on to the next one, as libraries that interpose
   do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what) {
  if (write(2, what, strlen(what)) < 0) _exit(2);
  _exit(1);
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

void *malloc(size_t size) {
  static void *(*real)(size_t);
  if (real == NULL) real = (void *(*)(size_t))next("malloc");
  return real(size);
}

__attribute__((constructor(101))) static void first(void) {
  void *aligned = NULL;
  errno = 7;
  if (posix_memalign(&aligned, 4096, 2901) != 0 || (uintptr_t)aligned % 4096 != 0) fail("posix_memalign\n");
  if (posix_memalign(&aligned, 3, 1) != EINVAL) fail("posix_memalign of a wrong alignment\n");
  if (errno != 7) fail("errno\n");
  char *cleared = calloc(10, 291);
  for (int i = 0; i < 2910; i++) if (cleared[i] != 0) fail("calloc\n");
  cleared = realloc(cleared, 2912);
  /* Fails, and keeps its message in memory. */
  if (dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") != NULL || dlerror() == NULL) fail("dlsym\n");
  void *(*found)(size_t, size_t) = (void *(*)(size_t, size_t))dlsym(RTLD_DEFAULT, "calloc");
  free(found(1, 2913));
  free(cleared);
}
