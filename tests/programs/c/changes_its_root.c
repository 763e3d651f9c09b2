/* Goes into an empty root of its own and allocates there; a child first loses all its rights. */
#include "say.h"
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

int main(void) {
  if (mkdir("root", 0700) != 0) return 1;
  free(malloc(2701));
  if (chroot("root") != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot("root") != 0)) return 77;
  if (chdir("/") != 0) return 2;
  for (int i = 0; i < 100; i++) free(malloc(2702));
  pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) free(malloc(1));
    for (int i = 0; i < 100; i++) free(malloc(2703));
    _exit(0);
  }
  int status;
  if (waitpid(child, &status, 0) != child || status != 0) return 3;
  free(malloc(2704));
  return 0;
}
