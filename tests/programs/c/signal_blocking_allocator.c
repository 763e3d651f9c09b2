/* libc's allocator, with signals blocked while it works: handlers of a program that links this may allocate. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static sigset_t block(void) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  return before;
}

static void *allowing(sigset_t before, void *result) {
  sigprocmask(SIG_SETMASK, &before, NULL);
  return result;
}

void *malloc(size_t size) {
  sigset_t before = block();
  return allowing(before, __libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
  sigset_t before = block();
  return allowing(before, __libc_calloc(count, size));
}

void *realloc(void *old, size_t size) {
  sigset_t before = block();
  return allowing(before, __libc_realloc(old, size));
}

void *memalign(size_t alignment, size_t size) {
  sigset_t before = block();
  return allowing(before, __libc_memalign(alignment, size));
}

void free(void *old) {
  sigset_t before = block();
  __libc_free(old);
  allowing(before, NULL);
}
