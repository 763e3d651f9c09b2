/* Becomes nobody, starts PROGRAM in its way, and waits for it. Ends with 77 where that is not allowed.

     becomes_another HOW PROGRAM

   keeps      executes it with the environment as it is
   clears     empties its environment before
   replaces   gives it another environment
   daemonizes executes it in a grandchild in a session of its own, whose parents have ended
   spawns     by posix_spawn, with another environment
   confuses   gives it an environment with the key of another recording */
#include "say.h"
#include <grp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 3) return 1;
  char *how = arguments[1], *program[] = {arguments[2], NULL};
  char *other[] = {"A=1", NULL};
  char *confused[] = {"SYSPROF_MEMPROF_KEY=00112233445566778899aabbccddeeff", NULL};
  if (geteuid() != 0 || setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 77;
  free(malloc(3201));
  if (strcmp(how, "spawns") == 0) {
    pid_t spawned;
    int status;
    if (posix_spawn(&spawned, program[0], NULL, NULL, program, other) != 0) return 2;
    return waitpid(spawned, &status, 0) == spawned && status == 0 ? 0 : 3;
  }
  /* Its end of the pipe is closed by the end of whoever has it. */
  int ends[2];
  if (pipe(ends) != 0) return 4;
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (strcmp(how, "daemonizes") == 0) {
      if (setsid() < 0) _exit(5);
      if (fork() != 0) _exit(0);
    }
    free(malloc(3202));
    if (strcmp(how, "clears") == 0) clearenv();
    if (strcmp(how, "replaces") == 0) execve(program[0], program, other);
    if (strcmp(how, "confuses") == 0) execve(program[0], program, confused);
    execv(program[0], program);
    _exit(6);
  }
  close(ends[1]);
  char byte;
  while (read(ends[0], &byte, 1) > 0) {
  }
  int status;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 7;
}
