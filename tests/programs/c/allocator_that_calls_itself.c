/* An allocator in front of libc's, whose functions call one another by their public names, as those of some allocators
   do: what the program called is one call all the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
/* As libc has it: its blocks are libc's. */
extern size_t malloc_usable_size(void *);

void *malloc(size_t size) { return __libc_malloc(size); }

void free(void *block) { __libc_free(block); }

void *memalign(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }

void *calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *block = malloc(bytes);
  return block == NULL ? NULL : memset(block, 0, bytes);
}

void *realloc(void *old, size_t size) {
  if (old != NULL && size == 0) {
    free(old);
    return NULL;
  }
  void *block = malloc(size);
  if (block == NULL || old == NULL) return block;
  size_t before = malloc_usable_size(old);
  memcpy(block, old, before < size ? before : size);
  free(old);
  return block;
}

void *reallocarray(void *old, size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *place = block;
  return 0;
}

void *valloc(size_t size) { return memalign(4096, size); }

void *pvalloc(size_t size) { return memalign(4096, (size + 4095) & ~(size_t)4095); }
