/* A thread computes from the beginning; when it is told to go on, so do a second thread and a child that it forks, until all are told to
   stop. Each says how many milliseconds of the processor it has had.

     computes_when_told PAGE */
#include "page.h"
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

/* Of its own code for each, so that samples tell who it was. */
#define COMPUTES(name, number)                                               \
  static __attribute__((noinline)) void *name(void *unused) {                \
    volatile uint64_t sum = 0;                                               \
    (void)unused;                                                            \
    while (!get(&page->stop)) {                                              \
      for (int i = 0; i < 1000000; i++) sum += (uint64_t)i;                  \
      void *block = malloc(1300 + number);                                   \
      __asm__ volatile("" ::"r"(block) : "memory");                          \
      free(block);                                                           \
      struct timespec time;                                                  \
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);                         \
      set(&page->threads[number].mallocs_done,                               \
          (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000);  \
    }                                                                        \
    return NULL;                                                             \
  }

COMPUTES(early, 0)
COMPUTES(late, 1)
COMPUTES(child, 2)

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  pthread_t first, second;
  pthread_create(&first, NULL, early, NULL);
  await(&page->go);
  pthread_create(&second, NULL, late, NULL);
  pid_t forked = fork();
  if (forked == 0) {
    child(NULL);
    _exit(0);
  }
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  waitpid(forked, NULL, 0);
  return 5;
}
