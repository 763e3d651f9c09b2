/* Allocates from code without tables, with everything in the frame pointer that should not be there. */
#include "say.h"
#include <sys/mman.h>

/* push rbp; mov rbp, rsi; call rdx; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xf5, 0xff, 0xd2, 0x5d, 0xc3};

int main(void) {
  unsigned char *place =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(place, code, sizeof code);
  void *(*call)(size_t, uint64_t, void *(*)(size_t)) = (void *(*)(size_t, uint64_t, void *(*)(size_t)))place;

  char *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  /* Frames that are their own callers, or each other's. */
  static uint64_t cycle[4];
  cycle[0] = (uint64_t)&cycle[2], cycle[1] = (uint64_t)main + 20;
  cycle[2] = (uint64_t)&cycle[0], cycle[3] = (uint64_t)main + 20;
  uint64_t local[2] = {(uint64_t)local, (uint64_t)main + 20};
  const uint64_t pointers[] = {
      1,                          8,
      (uint64_t)local,            (uint64_t)local + 1,
      (uint64_t)cycle,            (uint64_t)forbidden,
      (uint64_t)forbidden + 4088, UINT64_MAX,
      UINT64_MAX - 15,            0x8000000000000000u,
      0x00007ffffffff000u,        (uint64_t)place,
  };
  size_t count = sizeof pointers / sizeof *pointers;
  for (size_t i = 0; i < count; i++) free(call(1801 + i, pointers[i], malloc));
  printf("%zu\n", count);
  return 0;
}
