/* Has an allocator inside, whose functions are named as FAMILY says: 0 as those of libc, 1 as jemalloc's in Rust, 2 as mimalloc's. Each
 * is called a hundred times, and half of the blocks are given back. With -DODD its malloc begins with a loop. */
#include "say.h"

#include <stdint.h>

#define CALLS 100
#define FAR __attribute__((noinline, noclone, noipa))

static _Alignas(4096) char arena[1 << 24];
static size_t used;

/* A block behind its size, at a multiple of something. */
static void *cut(size_t size, size_t alignment) {
  size_t start = (used + sizeof(size_t) + alignment - 1) / alignment * alignment;
  if (start + size > sizeof arena) return NULL;
  used = start + size;
  void *block = arena + start;
  memcpy((char *)block - sizeof size, &size, sizeof size);
  return block;
}

static void *moved(void *old, size_t size) {
  size_t before = 0;
  void *block = cut(size, 16);
  if (old != NULL) memcpy(&before, (char *)old - sizeof before, sizeof before);
  return block == NULL || old == NULL ? block : memcpy(block, old, before < size ? before : size);
}

#if FAMILY == 0
#define NAME(name) name
#elif FAMILY == 1
#define NAME(name) _rjem_##name
#else
#define NAME(name) mi_##name
#endif

#ifdef ODD
/* malloc: dec; jnz malloc, which nobody can move. */
__asm__(".globl malloc; .type malloc, @function; malloc: mov $1, %ecx; 1: dec %ecx; jnz 1b; test %rdi, %rdi; js malloc;"
        "jmp cut_sixteen; .size malloc, .-malloc");
__attribute__((used)) void *cut_sixteen(size_t size) { return cut(size, 16); }
#else
FAR void *NAME(malloc)(size_t size) { return cut(size, 16); }
#endif
FAR void NAME(free)(void *block) {
  if (block != NULL) *(volatile char *)block = 1;
}
FAR void *NAME(calloc)(size_t count, size_t size) { return cut(count * size, 16); }
FAR void *NAME(realloc)(void *old, size_t size) { return moved(old, size); }

#if FAMILY == 0
FAR void *aligned_alloc(size_t alignment, size_t size) { return cut(size, alignment); }
FAR int posix_memalign(void **place, size_t alignment, size_t size) {
  *place = cut(size, alignment);
  return *place == NULL;
}
FAR char *strdup(const char *text) { return strcpy(cut(strlen(text) + 1, 16), text); }
#elif FAMILY == 1
FAR void *_rjem_mallocx(size_t size, int flags) { return cut(size, (size_t)1 << (flags & 63)); }
FAR void *_rjem_rallocx(void *old, size_t size, int flags) { return flags == 0 ? moved(old, size) : NULL; }
FAR void _rjem_sdallocx(void *block, size_t size, int flags) {
  if (size > 0 && flags >= 0) _rjem_free(block);
}
#else
FAR void *mi_malloc_aligned(size_t size, size_t alignment) { return cut(size, alignment); }
FAR void *mi_realloc_aligned(void *old, size_t size, size_t alignment) { return alignment > 0 ? mi_realloc(old, size) : NULL; }
FAR void mi_free_size(void *block, size_t size) {
  if (size > 0) mi_free(block);
}
#endif

static void half(int turn, void *block) {
  if (turn % 2 == 0) NAME(free)(block);
}

int main(void) {
  for (int turn = 0; turn < CALLS; turn++) {
    half(turn, NAME(malloc)(1001));
    half(turn, NAME(calloc)(2, 501));
    half(turn, NAME(realloc)(NAME(malloc)(1003), 1004));
#if FAMILY == 0
    void *block = NULL;
    half(turn, aligned_alloc(64, 1088));
    if (posix_memalign(&block, 64, 1152) != 0) return 1;
    half(turn, block);
    half(turn, strdup("fourteen bytes"));
#elif FAMILY == 1
    half(turn, _rjem_mallocx(1088, 6));
    void *block = _rjem_rallocx(_rjem_malloc(1005), 1006, 0);
    if (turn % 2 == 0) _rjem_sdallocx(block, 1006, 0);
#else
    half(turn, mi_malloc_aligned(1088, 64));
    void *block = mi_realloc_aligned(mi_malloc(1005), 1006, 16);
    if (turn % 2 == 0) mi_free_size(block, 1006);
#endif
  }
  return 0;
}
