/* Forbids itself the processor's time stamp counter, and goes on to allocate, in threads that have not yet, too. With `again` it
   allows the counter in the end.

     forbids_the_counter [again] */
#include "say.h"
#include <pthread.h>
#include <sys/prctl.h>

static void *work(void *unused) {
  for (int i = 0; i < 1000; i++) free(realloc(malloc(2300), 2400));
  return unused;
}

int main(int count, char **arguments) {
  (void)arguments;
  void *kept = malloc(2200);
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return 77;
  work(NULL);
  free(kept);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  if (count > 1 && prctl(PR_SET_TSC, PR_TSC_ENABLE) != 0) return 2;
  work(NULL);
  puts("done");
  return 0;
}
