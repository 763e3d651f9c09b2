/* An allocator that signal handlers may call: it gives out a region round after round and never takes anything back.
   What a program allocates first and keeps lies before that region. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { KEPT = 4 << 20, REGION = 64 << 20 };

static _Alignas(4096) char memory[KEPT + REGION];
static size_t used;

static void *take(size_t size, size_t alignment) {
  size_t whole = (size + 16 + alignment + 15) & ~(size_t)15;
  size_t start = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
  if (start + whole > KEPT) {
    start = KEPT + (start - KEPT) % (REGION - (1 << 20));
    if (start < KEPT || start + whole > sizeof memory) start = KEPT;
  }
  uintptr_t block = ((uintptr_t)memory + start + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
  memcpy((void *)(block - 16), &size, sizeof size);
  return (void *)block;
}

void *malloc(size_t size) { return take(size, 16); }

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) { return memset(take(count * size, 16), 0, count * size); }

void *realloc(void *old, size_t size) {
  size_t before = 0;
  void *block = take(size, 16);
  if (old != NULL) memcpy(&before, (char *)old - 16, sizeof before);
  return old == NULL ? block : memcpy(block, old, before < size ? before : size);
}

void *aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }

void *memalign(size_t alignment, size_t size) { return take(size, alignment); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  *place = take(size, alignment);
  return 0;
}
