/* A signal handler that stops, starts, marks and reports at any moment, within the functions of the allocator, too. */
#include "say.h"
#include "sysprof_memprof.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t calls;
static memprof_pool_t pool;

static void handler(int number) {
  static char block;
  memprof_mark("handler");
  memprof_report_alloc(pool, &block, (size_t)number);
  memprof_report_free(pool, &block);
  if (calls++ % 2) memprof_start();
  else memprof_stop();
}

int main(void) {
  struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  pool = memprof_pool("handler");
  signal(SIGPROF, handler);
  setitimer(ITIMER_PROF, &often, NULL);
  while (calls < 50)
    for (int turn = 0; turn < 1000; turn++) free(malloc(100));
  setitimer(ITIMER_PROF, &never, NULL);
  signal(SIGPROF, SIG_IGN);
  memprof_start();
  memprof_mark("after");
  return malloc(12345) == NULL;
}
