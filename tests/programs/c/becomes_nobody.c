/* Becomes nobody and starts a program by system and exec. Ends with 77 where that is not allowed.

     becomes_nobody PROGRAM */
#include "say.h"
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 2) return 1;
  if (geteuid() != 0 || setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 77;
  free(malloc(3101));
  if (system(arguments[1]) != 0) return 2;
  pid_t child = fork();
  if (child == 0) {
    execl(arguments[1], arguments[1], NULL);
    _exit(3);
  }
  int status;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 4;
}
