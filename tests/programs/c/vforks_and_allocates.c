/* Children of vfork that change the heap, which is their parent's: one leaves two blocks behind, frees one of its parent's,
 * and has one moved and one freed of its own; one execs; one is killed. The parent frees all that is left. Last, a child
 * makes more blocks than anybody remembers. */
#include "say.h"
#include <signal.h>
#include <sys/wait.h>

static void *volatile left[200], *volatile of_parent, *volatile moved;

static void end(pid_t child) {
  int status;
  waitpid(child, &status, 0);
}

int main(int count, char **arguments) {
  of_parent = malloc(1001);
  moved = malloc(1002);
  pid_t child = vfork();
  if (child == 0) {
    left[0] = malloc(2001);
    left[1] = calloc(1, 2002);
    free(of_parent);
    moved = realloc(moved, 200003);
    free(malloc(2004));
    _exit(0);
  }
  end(child);
  free(left[0]);
  free(left[1]);
  free(moved);

  child = vfork();
  if (child == 0) {
    left[0] = malloc(3001);
    execl("/bin/true", "true", NULL);
    _exit(1);
  }
  end(child);
  free(left[0]);

  child = vfork();
  if (child == 0) {
    left[0] = malloc(3002);
    kill(getpid(), SIGKILL);
  }
  end(child);
  free(left[0]);

  if (count > 1 && strcmp(arguments[1], "many") == 0) {
    child = vfork();
    if (child == 0) {
      for (int i = 0; i < 200; i++) left[i] = malloc(4001);
      _exit(0);
    }
    end(child);
    for (int i = 0; i < 200; i++) free(left[i]);
  }
  return 0;
}
