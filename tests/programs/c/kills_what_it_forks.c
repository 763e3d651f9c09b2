/* A library to preload: each child that is forked has been killed by the time its parent learns of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t fork(void) {
  pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
  pid_t child = next();
  if (child > 0) {
    siginfo_t ended;
    kill(child, SIGKILL);
    waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT);
  }
  return child;
}
