/* A child of vfork forks, by fork and by _Fork, as one that becomes a daemon does. What is forked has memory of its own, allocates, and frees
   what it has inherited. The program goes on as before. */
#include "say.h"
#include <sys/wait.h>

enum { BLOCKS = 50 };

static int code_of(pid_t child) {
  int status;
  return child <= 0 || waitpid(child, &status, 0) != child ? -1 : WEXITSTATUS(status);
}

int main(void) {
  void *volatile inherited = malloc(2501);
  for (volatile int way = 0; way < 2; way++) {
    pid_t child = vfork();
    if (child == 0) {
      pid_t grandchild = way == 0 ? fork() : _Fork();
      if (grandchild == 0) {
        for (int i = 0; i < BLOCKS; i++) free(malloc(2502));
        free(inherited);
        _exit(7);
      }
      _exit(code_of(grandchild));
    }
    if (code_of(child) != 7) return 1;
    free(malloc(2503));
  }
  free(inherited);
  return 0;
}
