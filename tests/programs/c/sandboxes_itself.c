/* Forbids itself system calls, as the argument says, and goes on to allocate: deeper on its stack than before, in threads
   that have not allocated yet where those are allowed, and with blocks from before.

     sandboxes_itself errno|trap|kill|seccomp|strict

   `errno`, `trap` and `kill` are filters through prctl, `seccomp` is one that kills through the system call of that
   name. All allow what glibc's allocator needs, and nothing that only the agent would. `strict` is the mode that leaves
   read, write and exit. */
#include "say.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int forbid(const char *how) {
  if (strcmp(how, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  unsigned otherwise = strcmp(how, "errno") == 0  ? SECCOMP_RET_ERRNO | EPERM
                       : strcmp(how, "trap") == 0 ? SECCOMP_RET_TRAP
                                                  : SECCOMP_RET_KILL_PROCESS;
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_brk), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
      BPF_STMT(BPF_RET | BPF_K, otherwise),
  };
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(how, "seccomp") == 0) return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

__attribute__((noinline)) static void at_depth(int depth) {
  volatile char frame[2000];
  frame[0] = (char)depth;
  if (depth > 0) at_depth(depth - 1);
  else free(malloc(2102));
  frame[1] = frame[0];
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  void *before = malloc(2100);
  if (forbid(arguments[1]) != 0) return 77;
  for (int i = 0; i < 100; i++) free(malloc(2101));
  for (int depth = 0; depth < 50; depth++) at_depth(depth);
  free(before);
  write(1, "allowed\n", 8);
  /* What a program calls under the strict mode: exit_group is not allowed there. */
  syscall(SYS_exit, 3);
}
