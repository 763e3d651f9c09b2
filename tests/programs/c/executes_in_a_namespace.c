/* Makes a pid namespace, in which a child forks one that allocates and at once executes this program again, which allocates and ends
   with 3. */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char *block;

int main(int count, char **words) {
  (void)words;
  if (count > 1) {
    block = malloc(2114);
    return 3;
  }
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
  int status = 0;
  if (fork() == 0) {
    block = malloc(2112);
    if (fork() == 0) {
      block = malloc(2113);
      execl("/proc/self/exe", "again", "again", (char *)NULL);
      _exit(70);
    }
    wait(&status);
    _exit(WEXITSTATUS(status));
  }
  wait(&status);
  return WEXITSTATUS(status);
}
