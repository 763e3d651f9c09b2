/* Forks children that free what they inherited and allocate for themselves, while the parent goes on and frees the
   same addresses. Nobody leaves anything behind. */
#include "say.h"
#include <sys/wait.h>

enum { BLOCKS = 2000, CHILDREN = 20 };

static void *blocks[BLOCKS];

__attribute__((noinline)) static void in_child(void) {
  for (int i = 0; i < BLOCKS; i++) free(malloc(333));
}

int main(void) {
  for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(100);
  for (int child = 0; child < CHILDREN; child++) {
    pid_t pid = fork();
    if (pid == 0) {
      in_child();
      for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
      return 0;
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
  }
  for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
  return 0;
}
