/* Computes in registers of all kinds until it is told to stop, and allocates now and then. Ends with 6 where one of them was another
   afterwards, or the signals that it blocks, or its alternate stack.

     keeps_its_registers PAGE */
#include "page.h"
#include <signal.h>
#include <unistd.h>

enum { WORDS = 4, LAP = 3000000 };
static char alternate[1 << 16];

__attribute__((target("avx"))) static int keeps(const uint64_t *given, uint64_t *found) {
  uint64_t r8, r9, r10, r15;
  __asm__ volatile(
      "vmovdqu (%[given]), %%ymm0\n vmovdqu (%[given]), %%ymm7\n vmovdqu (%[given]), %%ymm15\n"
      "mov (%[given]), %%r8\n mov 8(%[given]), %%r9\n mov 16(%[given]), %%r10\n mov 24(%[given]), %%r15\n"
      "mov %[lap], %%ecx\n 1: dec %%ecx\n jnz 1b\n"
      "vmovdqu %%ymm0, (%[found])\n vmovdqu %%ymm7, 32(%[found])\n vmovdqu %%ymm15, 64(%[found])\n"
      "mov %%r8, %[r8]\n mov %%r9, %[r9]\n mov %%r10, %[r10]\n mov %%r15, %[r15]\n"
      : [r8] "=m"(r8), [r9] "=m"(r9), [r10] "=m"(r10), [r15] "=m"(r15)
      : [given] "r"(given), [found] "r"(found), [lap] "i"(LAP)
      : "rcx", "r8", "r9", "r10", "r15", "xmm0", "xmm7", "xmm15", "memory", "cc");
  for (int part = 0; part < 3; part++)
    if (memcmp(found + part * WORDS, given, WORDS * sizeof *given) != 0) return 0;
  return r8 == given[0] && r9 == given[1] && r10 == given[2] && r15 == given[3];
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  if (!__builtin_cpu_supports("avx")) return 77;
  stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate}, stack_now;
  sigset_t blocked, blocked_now;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  if (sigaltstack(&stack, NULL) != 0 || sigprocmask(SIG_BLOCK, &blocked, NULL) != 0) return 2;
  map_page(arguments[1]);
  struct page_counts *counts = &page->threads[0];
  uint64_t given[WORDS] = {0x0123456789abcdef, 0xfedcba9876543210, 0x1111111122222222, 0x3333333344444444};
  uint64_t found[3 * WORDS];
  while (!get(&page->stop)) {
    memset(found, 0, sizeof found);
    if (!keeps(given, found)) return 6;
    for (int i = 0; i < 100; i++) free(malloc(1600));
    set(&counts->mallocs_done, get(&counts->mallocs_done) + 100);
    sigprocmask(SIG_BLOCK, NULL, &blocked_now);
    sigaltstack(NULL, &stack_now);
    if (memcmp(&blocked, &blocked_now, 8) != 0 || stack_now.ss_sp != alternate) return 6;
  }
  return 5;
}
