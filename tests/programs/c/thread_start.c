/* Allocates in threads, and in a thread that a thread has started. */
#include "probe.h"
#include <pthread.h>

static void *inner(void *size) {
  probe((size_t)size);
  return NULL;
}

static void *outer(void *size) {
  pthread_t thread;
  probe((size_t)size);
  pthread_create(&thread, NULL, inner, (char *)size + 1);
  pthread_join(thread, NULL);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, outer, (void *)70001);
  pthread_join(thread, NULL);
  return 0;
}
