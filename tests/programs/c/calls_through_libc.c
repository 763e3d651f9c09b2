/* Has functions of the C library allocate and call back, each for blocks of a size of its own. Everything is freed. */
#include "say.h"
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>

enum { TIMES = 20 };

static void lend(size_t size) {
  void *volatile block = malloc(size);
  free(block);
}

/* strdup allocates its length and one more. */
static void copy(size_t size) {
  char text[4000];
  memset(text, 'x', size - 1);
  text[size - 1] = 0;
  char *volatile copied = strdup(text);
  free(copied);
}

static int compare(const void *one, const void *other) {
  lend(4101);
  return *(const int *)one - *(const int *)other;
}

__attribute__((noinline)) static void sort(void) {
  int numbers[8] = {8, 3, 4, 5, 1, 2, 7, 6};
  qsort(numbers, 8, sizeof *numbers, compare);
}

static int find(const void *one, const void *other) {
  lend(4102);
  return *(const int *)one - *(const int *)other;
}

__attribute__((noinline)) static void search(void) {
  int numbers[4] = {1, 2, 3, 4}, wanted = 3;
  bsearch(&wanted, numbers, 4, sizeof *numbers, find);
}

__attribute__((noinline)) static void once(void) { lend(4103); }

__attribute__((noinline)) static void handle(int signal) {
  (void)signal;
  lend(4104);
}

static void *work(void *unused) {
  lend(4105);
  copy(3106);
  return unused;
}

__attribute__((constructor)) static void begin(void) { lend(4107); }

int main(void) {
  for (int i = 0; i < TIMES; i++) copy(3108);
  sort();
  search();
  pthread_once_t control = PTHREAD_ONCE_INIT;
  pthread_once(&control, once);
  signal(SIGUSR1, handle);
  raise(SIGUSR1);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  void *volatile block = calloc(1, 4109);
  free(block);
  void *place = NULL;
  if (posix_memalign(&place, 64, 4110) != 0) return 1;
  free(place);
  return 7;
}
