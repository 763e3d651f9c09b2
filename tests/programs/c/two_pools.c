/* Two pools in one block of malloc, whose blocks have the same addresses as each other and as that one. */
#include "say.h"
#include "sysprof_memprof.h"

static memprof_pool_t arena, cache;

__attribute__((noinline)) static void fill(char *memory) {
  for (int block = 0; block < 10; block++) memprof_report_alloc(arena, memory + 100 * block, 100);
}

__attribute__((noinline)) static void grow(char *memory) {
  memprof_report_realloc(arena, memory + 100, memory + 1000, 300);
  memprof_report_realloc(arena, memory + 200, memory + 200, 50);
  memprof_report_realloc(arena, NULL, memory + 2000, 7);
}

int main(void) {
  char *memory = malloc(4096);
  arena = memprof_pool("arena");
  cache = memprof_pool("cache");
  fill(memory);
  memprof_report_alloc(cache, memory, 4096);
  grow(memory);
  memprof_report_free(arena, memory);
  memprof_report_free(cache, memory);
  memprof_report_free(cache, NULL);
  memprof_report_alloc(cache, NULL, 1);
  printf("%d %d\n", arena == memprof_pool("arena"), arena != cache);
  free(memory);
  return 0;
}
