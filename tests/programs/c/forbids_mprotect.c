/* Has mprotect fail from now on, as a service may that needs no more of it, and allocates from 8,192 different stacks then. */
#include "say.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void even(int depth, unsigned way);
static void odd(int depth, unsigned way);

static void allocate(void) { free(malloc(2001)); }

#define STEP(name) \
  __attribute__((noinline)) static void name(int depth, unsigned way) { \
    if (depth == 0) allocate(); \
    else if (way & 1) odd(depth - 1, way >> 1); \
    else even(depth - 1, way >> 1); \
    __asm__ volatile(""); \
  }
STEP(even)
STEP(odd)

int main(void) {
  allocate();
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 1;
  for (unsigned way = 0; way < 1 << 13; way++) even(13, way);
  return 0;
}
