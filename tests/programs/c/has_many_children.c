/* Forks children that all live at the same time, allocate from when the last of them is there, and end together.

     has_many_children CHILDREN CALLS */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  int begin[2], ready[2], children, calls, status;
  char byte = 0;
  if (count < 3 || pipe(begin) != 0 || pipe(ready) != 0) return 1;
  children = atoi(arguments[1]);
  calls = atoi(arguments[2]);
  for (int child = 0; child < children; child++) {
    pid_t pid = fork();
    if (pid < 0) return 77;
    if (pid == 0) {
      close(begin[1]);
      free(malloc(1300));
      if (write(ready[1], &byte, 1) != 1) return 2;
      if (read(begin[0], &byte, 1) != 0) return 3;
      for (int call = 1; call < calls; call++) free(malloc(1300));
      return 0;
    }
  }
  for (int child = 0; child < children; child++)
    if (read(ready[0], &byte, 1) != 1) return 4;
  /* The collector looks at them meanwhile. */
  usleep(300000);
  close(begin[1]);
  while (wait(&status) > 0)
    if (status != 0) return 5;
  return 0;
}
