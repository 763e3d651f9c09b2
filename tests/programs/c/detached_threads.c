/* Detached threads, at most four at once, that do nothing of their own. Their stacks are larger than what libc keeps of such, so
   the last thing that each does is to free what belongs to the stacks of others.

     detached_threads COUNT */
#include "say.h"
#include <pthread.h>
#include <stdatomic.h>

enum { AT_ONCE = 4 };
static atomic_int running;

static void *rest(void *unused) {
  usleep(100);
  running--;
  return unused;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 64 << 20);
  for (int left = atoi(arguments[1]); left > 0; left--) {
    while (running >= AT_ONCE) usleep(100);
    running++;
    pthread_t thread;
    if (pthread_create(&thread, &attributes, rest, NULL) != 0) return 2;
  }
  while (running > 0) usleep(100);
  for (int i = 0; i < 100; i++) free(malloc(1600));
  return 0;
}
