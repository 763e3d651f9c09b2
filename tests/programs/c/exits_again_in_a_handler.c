/* Waits for the page's `go`, and ends with code 4; a signal comes soon after that, whose handler ends the process with code 9.

     exits_again_in_a_handler PAGE */
#include "page.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(9);
}

__attribute__((destructor)) static void begin(void) {
  struct itimerval time = {.it_value = {.tv_usec = 200000}};
  setitimer(ITIMER_REAL, &time, NULL);
}

int main(int count, char **words) {
  if (count < 2) return 1;
  map_page(words[1]);
  signal(SIGALRM, end);
  void *volatile block = malloc(77);
  await(&page->go);
  return block == NULL ? 1 : 4;
}
