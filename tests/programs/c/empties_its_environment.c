/* Takes everything out of its environment, starts a program by system and popen, whose own environment that is, and looks whether its own
   is still empty, also where a signal handler left system.

     empties_its_environment PROGRAM */
#include "say.h"
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

extern char **environ;
static sigjmp_buf back;

static void leave(int signal) { siglongjmp(back, signal); }

static int has_variables(void) { return environ != NULL && environ[0] != NULL; }

int main(int count, char **arguments) {
  if (count < 2) return 1;
  char command[4200];
  clearenv();
  snprintf(command, sizeof command, "exec %s system", arguments[1]);
  if (system(command) != 0 || has_variables()) return 2;
  setenv("OWN", "1", 1);
  snprintf(command, sizeof command, "test \"$OWN\" = 1 && exec %s popen", arguments[1]);
  FILE *pipe = popen(command, "r");
  if (pipe == NULL || has_variables() != 1 || environ[1] != NULL || pclose(pipe) != 0) return 3;
  clearenv();
  signal(SIGALRM, leave);
  if (sigsetjmp(back, 1) == 0) {
    alarm(1);
    system("exec sleep 3");
    return 4;
  }
  /* Whatever it is now, it can be read, and changed. */
  if (getenv("OWN") != NULL || setenv("OWN", "2", 1) != 0 || strcmp(getenv("OWN"), "2") != 0) return 5;
  free(malloc(901));
  return 0;
}
