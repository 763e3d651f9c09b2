/* 10,000 threads, eight at a time, that allocate and free themselves and in the destructor of a thread-local value. The
   destructor of one key sets another's, so that destructors run in several rounds. */
#include "say.h"
#include <pthread.h>

enum { THREADS = 10000, AT_ONCE = 8 };

static pthread_key_t first, second;

static void end_first(void *block) {
  free(block);
  pthread_setspecific(second, malloc(302));
}

static void end_second(void *block) {
  free(block);
  free(malloc(303));
}

static void *work(void *nothing) {
  (void)nothing;
  free(malloc(300));
  pthread_setspecific(first, malloc(301));
  return NULL;
}

int main(void) {
  pthread_key_create(&first, end_first);
  pthread_key_create(&second, end_second);
  for (int started = 0; started < THREADS; started += AT_ONCE) {
    pthread_t threads[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
      if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
    }
    for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
  }
  return 0;
}
