/* Ends in the way that the arguments say: by a signal, or by a function with a code. */
#include "say.h"
#include <pthread.h>
#include <signal.h>

static int code;

static void *from_thread(void *nothing) {
  (void)nothing;
  exit(code);
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  const char *how = arguments[1];
  code = atoi(arguments[2]);
  free(malloc(1500));
  printf("before the end\n");
  fflush(stdout);
  if (strcmp(how, "signal") == 0) {
    /* Whoever starts this may ignore it. */
    signal(code, SIG_DFL);
    raise(code);
  }
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "_exit") == 0) _exit(code);
  if (strcmp(how, "quick_exit") == 0) quick_exit(code);
  if (strcmp(how, "fault") == 0) *(volatile char *)8 = 1;
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, from_thread, NULL);
    pthread_join(thread, NULL);
  }
  return code;
}
