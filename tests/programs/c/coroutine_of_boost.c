/* Allocates on stacks that are made and switched as those of Boost.Context are: without unwind tables, and entered by a jump. */
#include "probe.h"

typedef void *context;
struct transfer {
  context from;
  void *data;
};

context make_fcontext(void *top, size_t size, void (*function)(struct transfer));
struct transfer jump_fcontext(context to, void *data);

/* After make_x86_64_sysv_elf_gas.S and jump_x86_64_sysv_elf_gas.S, without the floating-point state. */
__asm__(".text\n"
        ".globl make_fcontext\n"
        ".type make_fcontext, @function\n"
        "make_fcontext:\n"
        "  movq %rdi, %rax\n"
        "  andq $-16, %rax\n"
        "  leaq -0x40(%rax), %rax\n"
        "  movq %rdx, 0x28(%rax)\n"
        "  leaq 1f(%rip), %rcx\n"
        "  movq %rcx, 0x38(%rax)\n"
        "  leaq 2f(%rip), %rcx\n"
        "  movq %rcx, 0x30(%rax)\n"
        "  ret\n"
        "1: push %rbp\n"
        "  jmp *%rbx\n"
        "2: ud2\n"
        ".size make_fcontext, . - make_fcontext\n"
        ".globl jump_fcontext\n"
        ".type jump_fcontext, @function\n"
        "jump_fcontext:\n"
        "  leaq -0x38(%rsp), %rsp\n"
        "  movq %r12, 0x08(%rsp)\n"
        "  movq %r13, 0x10(%rsp)\n"
        "  movq %r14, 0x18(%rsp)\n"
        "  movq %r15, 0x20(%rsp)\n"
        "  movq %rbx, 0x28(%rsp)\n"
        "  movq %rbp, 0x30(%rsp)\n"
        "  movq %rsp, %rax\n"
        "  movq %rdi, %rsp\n"
        "  movq 0x38(%rsp), %r8\n"
        "  movq 0x08(%rsp), %r12\n"
        "  movq 0x10(%rsp), %r13\n"
        "  movq 0x18(%rsp), %r14\n"
        "  movq 0x20(%rsp), %r15\n"
        "  movq 0x28(%rsp), %rbx\n"
        "  movq 0x30(%rsp), %rbp\n"
        "  leaq 0x40(%rsp), %rsp\n"
        "  movq %rsi, %rdx\n"
        "  movq %rax, %rdi\n"
        "  jmp *%r8\n"
        ".size jump_fcontext, . - jump_fcontext\n");

static void inner(size_t size) {
  probe(size);
  STAY();
}

static void coroutine(struct transfer from) {
  inner(70001);
  from = jump_fcontext(from.from, 0);
  inner(70002);
  jump_fcontext(from.from, 0);
}

int main(void) {
  static char stack[1 << 16];
  struct transfer back = jump_fcontext(make_fcontext(stack + sizeof stack, sizeof stack, coroutine), 0);
  inner(70003);
  jump_fcontext(back.from, 0);
  return 0;
}
