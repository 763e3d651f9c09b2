/* Allocates until a signal comes, whose handler ends the process: most often in the middle of an allocation.

     exits_in_a_handler MICROSECONDS */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(7);
}

int main(int count, char **words) {
  (void)count;
  signal(SIGALRM, end);
  struct itimerval time = {.it_value = {.tv_usec = atoi(words[1])}};
  setitimer(ITIMER_REAL, &time, NULL);
  for (;;) {
    void *volatile block = malloc(24);
    free(block);
  }
}
