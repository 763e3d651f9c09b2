/* Exports an allocator of its own, which comes before any library's, and duplicates a string by libc, which calls it. */
#include "say.h"

static _Alignas(16) char arena[1 << 20];
static size_t used;

// Calls of them are calls.
#define OWN __attribute__((noipa))

OWN void *malloc(size_t size) {
  void *block = arena + used;
  used += (size + 15) & ~(size_t)15;
  return block;
}

static void *volatile freed;

OWN void free(void *block) { freed = block; }

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *old, size_t size) {
  void *block = malloc(size);
  return old == NULL ? block : memcpy(block, old, size);
}

int main(void) {
  char *text = strdup("its own");
  printf("%s %d\n", text, text >= arena && text < arena + sizeof arena);
  free(text);
  return 0;
}
