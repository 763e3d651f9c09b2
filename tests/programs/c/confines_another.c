/* Becomes another program that is killed for a system call, or has it fail, as a service manager starts one.

     confines_another connect|process_vm_readv|prlimit64 AGENT PROGRAM ARGUMENTS…

   AGENT is what the program is preloaded with, `-` for what this one is. */
#include "filter.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 4) return 1;
  int fails = strcmp(arguments[1], "prlimit64") == 0
                  ? refuse(SYS_prlimit64)
                  : forbid(strcmp(arguments[1], "connect") == 0 ? SYS_connect : SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS);
  if (fails) return 77;
  if (strcmp(arguments[2], "-") != 0 && setenv("LD_PRELOAD", arguments[2], 1) != 0) return 1;
  execv(arguments[3], arguments + 3);
  return 127;
}
