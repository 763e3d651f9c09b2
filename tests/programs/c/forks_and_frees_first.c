/* Forks, frees what the child has inherited, and only then lets the child do anything: that frees it, too. */
#include "say.h"
#include <sys/wait.h>

enum { INHERITED = 50 };

int main(void) {
  void *inherited[INHERITED];
  int go[2];
  char byte = 0;
  if (pipe(go) != 0) return 1;
  for (int i = 0; i < INHERITED; i++) inherited[i] = malloc(505);
  pid_t child = fork();
  if (child == 0) {
    if (read(go[0], &byte, 1) != 1) _exit(1);
    for (int i = 0; i < INHERITED; i++) free(inherited[i]);
    _exit(0);
  }
  for (int i = 0; i < INHERITED; i++) free(inherited[i]);
  if (write(go[1], &byte, 1) != 1) return 1;
  int status;
  return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
}
