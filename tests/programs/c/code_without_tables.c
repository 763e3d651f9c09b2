/* Calls through code that was made at run time, for which no tables exist: with a frame pointer, without, and with 0 in its
   register, which is none either. */
#define _GNU_SOURCE
#include "probe.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((noinline)) static void called_with_frame(void) {
  probe(70001);
  STAY();
}

__attribute__((noinline)) static void called_without_frame(void) {
  probe(70002);
  STAY();
}

__attribute__((noinline)) static void called_with_zero(void) {
  probe(70003);
  STAY();
}

static void run(const unsigned char *code, size_t length, void (*function)(void)) {
  unsigned char *place =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(place, code, length);
  ((void (*)(void (*)(void)))place)(function);
  STAY();
}

int main(void) {
  /* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
  static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  /* sub rsp, 8; call rdi; add rsp, 8; ret */
  static const unsigned char without_frame[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  /* push rbp; xor ebp, ebp; call rdi; pop rbp; ret */
  static const unsigned char with_zero[] = {0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3};
  run(with_frame, sizeof with_frame, called_with_frame);
  run(without_frame, sizeof without_frame, called_without_frame);
  run(with_zero, sizeof with_zero, called_with_zero);
  return 0;
}
