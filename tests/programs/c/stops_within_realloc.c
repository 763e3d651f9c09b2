/* Threads, one after the other, each of which lets a block grow; meanwhile the first one wants nothing recorded. After each, it wants
   everything recorded again.

     stops_within_realloc COUNT */
#include "say.h"
#include "sysprof_memprof.h"
#include <pthread.h>
#include <stdatomic.h>

extern void (*in_realloc)(void);
static atomic_int is_within, may_go;

static void wait_within(void) {
  is_within = 1;
  while (!may_go) usleep(10);
}

static void *grow(void *unused) {
  free(realloc(malloc(1700), 1800));
  return unused;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  in_realloc = wait_within;
  for (int left = atoi(arguments[1]); left > 0; left--) {
    is_within = may_go = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, grow, NULL) != 0) return 2;
    while (!is_within) usleep(10);
    memprof_stop();
    may_go = 1;
    pthread_join(thread, NULL);
    memprof_start();
  }
  in_realloc = NULL;
  return 0;
}
