/* Becomes itself again as often as the argument says, by another function of the exec family each time, with blocks
   alive; a failing exec comes before each. */
#include "say.h"
#include <fcntl.h>

extern char **environ;

int main(int count, char **arguments) {
  int left = count > 1 ? atoi(arguments[1]) : 0;
  char next[16];
  snprintf(next, sizeof next, "%d", left - 1);
  char *path = arguments[0], *list[] = {path, next, NULL};
  void *block = malloc(800 + (size_t)left);
  execl("/nonexistent", "nonexistent", NULL);
  execv("/nonexistent", list);
  if (left > 0) {
    switch (left) {
      case 8: execv(path, list); break;
      case 7: execve(path, list, environ); break;
      case 6: execvp(path, list); break;
      case 5: execvpe(path, list, environ); break;
      case 4: execl(path, path, next, NULL); break;
      case 3: execlp(path, path, next, NULL); break;
      case 2: execle(path, path, next, NULL, environ); break;
      case 1: fexecve(open(path, O_RDONLY | O_CLOEXEC), list, environ); break;
    }
    return 1;
  }
  free(block);
  return 9;
}
