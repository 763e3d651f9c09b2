/* Makes every call of the C allocator's interface, and prints each as the recording should have it. */
#include "say.h"
#include <errno.h>
#include <malloc.h>

extern void cfree(void *) __attribute__((weak));
extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

static void *made(const char *call, void *block, size_t size, size_t alignment) {
  if (block == NULL) {
    fprintf(stderr, "%s failed\n", call);
    exit(1);
  }
  printf("alloc %s %p %zu %zu\n", call, block, size, alignment);
  return block;
}

static void freeing(void *block) { printf("free %p\n", block); }

/* A block of its own again: sizes change places. */
static void *moved(const char *call, void *old, void *block, size_t size) {
  printf("realloc_begin %p\nrealloc_end %s %p %zu\n", old, call, block, size);
  return block;
}

int main(void) {
  volatile size_t huge = SIZE_MAX / 2;
  void *block = made("malloc", malloc(100), 100, 0);
  freeing(block), free(block);
  block = made("malloc", malloc(0), 0, 0);
  freeing(block), free(block);
  block = made("malloc", malloc(3 << 20), 3 << 20, 0); /* pages of its own */
  freeing(block), free(block);
  block = made("calloc", calloc(7, 11), 77, 0);
  freeing(block), free(block);

  /* realloc: from nothing, larger, smaller, from pages to the heap, to nothing */
  block = made("realloc", realloc(NULL, 10), 10, 0);
  void *old = block;
  block = moved("realloc", old, realloc(old, 5000), 5000), old = block;
  block = moved("realloc", old, realloc(old, 50), 50), old = block;
  block = moved("realloc", old, realloc(old, 1 << 20), 1 << 20), old = block;
  block = moved("realloc", old, realloc(old, 60), 60), old = block;
  printf("realloc_begin %p\n", old);
  printf(realloc(old, huge) == NULL ? "realloc_failed\n" : "unexpected\n");
  printf("realloc_begin %p\n", old);
  /* musl gives an empty block for nothing. */
  block = realloc(old, 0);
  if (block == NULL) {
    printf("realloc_freed\n");
  } else {
    printf("realloc_end realloc %p 0\n", block);
    freeing(block), free(block);
  }

  block = made("reallocarray", reallocarray(NULL, 3, 30), 90, 0), old = block;
  block = moved("reallocarray", old, reallocarray(old, 40, 50), 2000), old = block;
  // The product overflows, so nothing is resized: a failed call, and no realloc.
  if (reallocarray(old, huge, 16) != NULL) return 1;
  freeing(old), free(old);

  void *place = NULL;
  if (posix_memalign(&place, 256, 300) != 0) return 1;
  made("posix_memalign", place, 300, 256);
  freeing(place), free(place);
  block = made("aligned_alloc", aligned_alloc(64, 128), 128, 64);
  freeing(block), free(block);
  block = made("memalign", memalign(512, 33), 33, 512);
  freeing(block), free(block);
  block = made("valloc", valloc(44), 44, 4096);
  freeing(block), free(block);
#ifdef __GLIBC__
  block = made("pvalloc", pvalloc(55), 55, 4096);
  freeing(block), free(block);
#endif

  /* Other names of free, where this C library or what stands in front of it has them. */
  block = made("malloc", malloc(21), 21, 0);
  freeing(block), cfree ? cfree(block) : free(block);
  block = made("malloc", malloc(22), 22, 0);
  freeing(block), free_sized ? free_sized(block, 22) : free(block);
  block = made("aligned_alloc", aligned_alloc(32, 32), 32, 32);
  freeing(block), free_aligned_sized ? free_aligned_sized(block, 32, 32) : free(block);

  /* What counts nowhere: nothing to free, failures, questions. */
  free(NULL);
  if (malloc(huge) || calloc(huge, 16) || realloc(NULL, huge) || aligned_alloc(64, huge)) return 1;
  if (posix_memalign(&place, 3, 10) != EINVAL || posix_memalign(&place, 64, huge) != ENOMEM) return 1;
  block = made("malloc", malloc(500), 500, 0);
  if (malloc_usable_size(block) < 500) return 1;
  freeing(block), free(block);

  /* Alive at the end, with an address and a size that do not fit into short records. */
  size_t large = ((size_t)4 << 30) + 16;
  made("malloc", malloc(large), large, 0);
  made("malloc", malloc(600), 600, 0);
  return 0;
}
