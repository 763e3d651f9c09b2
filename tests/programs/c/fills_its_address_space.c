/* Limits its address space to 320 MiB, has threads allocate, all of which stay, and says how many MiB it can map besides, and of which
   limit it is told.

     fills_its_address_space THREADS */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_barrier_t all_are_there;

static void *work(void *nothing) {
  free(malloc(2801));
  pthread_barrier_wait(&all_are_there);
  pause();
  return nothing;
}

static struct rlimit wanted = {320 << 20, 400 << 20};

int main(int count, char **arguments) {
  int threads = count > 1 ? atoi(arguments[1]) : 0;
  mallopt(M_ARENA_MAX, 1);
  free(malloc(2801));
  if (setrlimit(RLIMIT_AS, &wanted) != 0) return 2;
  pthread_barrier_init(&all_are_there, NULL, threads + 1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 0; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, work, NULL) != 0) return 3;
  }
  pthread_barrier_wait(&all_are_there);
  int megabytes = 0;
  while (mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) megabytes++;
  struct rlimit told;
  if (getrlimit(RLIMIT_AS, &told) != 0) return 4;
  printf("%d MiB of %lu to %lu\n", megabytes, told.rlim_cur >> 20, told.rlim_max >> 20);
  return 0;
}
