/* Forks, and both sides allocate and free 10,000 times; the child frees what it inherited, too. */
#include "say.h"
#include <sys/wait.h>

enum { TIMES = 10000, INHERITED = 50 };

__attribute__((noinline)) static void in_parent(void) {
  for (int i = 0; i < TIMES; i++) free(malloc(501));
}

__attribute__((noinline)) static void in_child(void) {
  for (int i = 0; i < TIMES; i++) free(malloc(502));
}

int main(void) {
  void *inherited[INHERITED];
  for (int i = 0; i < INHERITED; i++) inherited[i] = malloc(503);
  pid_t child = fork();
  if (child == 0) {
    in_child();
    for (int i = 0; i < INHERITED; i++) free(inherited[i]);
    _exit(7);
  }
  in_parent();
  for (int i = 0; i < INHERITED; i++) free(inherited[i]);
  int status;
  if (waitpid(child, &status, 0) != child) return 1;
  printf("%d %d %d\n", getpid(), child, WEXITSTATUS(status));
  return 0;
}
