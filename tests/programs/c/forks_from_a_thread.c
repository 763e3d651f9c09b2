/* Forks from one of several threads while the others allocate. */
#include "say.h"
#include <pthread.h>
#include <sys/wait.h>

static int is_over;

static void *keep_allocating(void *nothing) {
  (void)nothing;
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) free(malloc(700));
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, keep_allocating, NULL);
  for (int i = 0; i < 50; i++) {
    pid_t child = fork();
    if (child == 0) {
      for (int j = 0; j < 20; j++) free(malloc(701));
      _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  return 0;
}
