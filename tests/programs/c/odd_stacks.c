/* Allocates from code without tables, with everything in the frame pointer that should not be there; then from code with
   tables that are wrong, and everything where they say that the return address is. */
#include "say.h"
#include <sys/mman.h>

/* push rbp; mov rbp, rsi; call rdx; je, to the next instruction; pop rbp; ret. What follows the call is not straight, so it
   does not tell where the return address is. */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xf5, 0xff, 0xd2, 0x74, 0x00, 0x5d, 0xc3};

/* What is pushed is in no table: by them, `value` is where this returns to. */
void *allocate_below(size_t size, uint64_t value);
__asm__(".pushsection .text\n"
        ".type allocate_below, @function\n"
        "allocate_below:\n"
        "  .cfi_startproc\n"
        "  push %rsi\n"
        "  call malloc@PLT\n"
        "  pop %rsi\n"
        "  ret\n"
        "  .cfi_endproc\n"
        "  .size allocate_below, . - allocate_below\n"
        ".popsection\n");

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
  const uint64_t returns[] = {1, 8, 4095, 4096, (uint64_t)forbidden, UINT64_MAX, 0x8000000000000000u};
  size_t below = sizeof returns / sizeof *returns;
  for (size_t i = 0; i < below; i++) free(allocate_below(1901 + i, returns[i]));
  printf("%zu %zu\n", count, below);
  return 0;
}
