/* Forks as many children as it is told, all of which allocate one block and live until the last one has.

     forks_many COUNT */
#include "say.h"
#include <sys/wait.h>

int main(int count, char **arguments) {
  int up[2], down[2], done = 0;
  char byte = 0;
  if (count != 2 || pipe(up) || pipe(down)) return 2;
  int children = atoi(arguments[1]);
  free(malloc(2101));
  for (int child = 0; child < children; child++) {
    pid_t pid = fork();
    if (pid < 0) return 77;
    if (pid == 0) {
      free(malloc(2102));
      close(down[1]);
      if (write(up[1], &byte, 1) != 1) _exit(2);
      _exit(read(down[0], &byte, 1) == 0 ? 0 : 2);
    }
  }
  for (; done < children && read(up[0], &byte, 1) == 1; done++) {}
  close(down[1]);
  while (wait(NULL) > 0) {}
  return done == children ? 0 : 2;
}
