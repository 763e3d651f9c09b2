/* A signal handler that leaves by siglongjmp, whatever it has interrupted, a thousand times a second; then allocates in
   peace. Needs an allocator that may be left at any instruction. Prints how often the handler ran.

     leaves_hooks_by_longjmp SIGNALS */
#include "say.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf again;
static volatile int left;

static void on_signal(int number) {
  (void)number;
  free(malloc(2201));
  left++;
  siglongjmp(again, 1);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  int wanted = atoi(arguments[1]);
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  sigsetjmp(again, 1);
  while (left < wanted) free(malloc(2202));
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_IGN);
  for (int i = 0; i < 1000; i++) free(malloc(2203));
  printf("%d\n", left);
  return 0;
}
