/* Allocates in threads with so much stack as the argument says; at least what a thread must have. */
#include "say.h"
#include <limits.h>
#include <pthread.h>

static void *work(void *nothing) {
  (void)nothing;
  for (int i = 0; i < 100; i++) free(realloc(malloc(1901), 1902));
  return NULL;
}

int main(int count, char **arguments) {
  long size = count > 1 ? atol(arguments[1]) : 0, least = sysconf(_SC_THREAD_STACK_MIN);
  pthread_attr_t smallest;
  pthread_attr_init(&smallest);
  if (pthread_attr_setstacksize(&smallest, (size_t)(size > least ? size : least)) != 0) return 1;
  for (int i = 0; i < 20; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &smallest, work, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  return 0;
}
