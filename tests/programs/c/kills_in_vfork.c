/* Children of vfork are killed while they call, many of them in the middle of a hook. After each the parent, deeper in its
   stack than the child was, allocates a block of 4,321 bytes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic pid_t victim;
static void *volatile block;

static void *kill_victims(void *unused) {
  for (;;) {
    pid_t pid = atomic_exchange(&victim, 0);
    struct timespec pause = {0, pid ? 100000 + pid * 7919 % 100000 : 20000};
    nanosleep(&pause, NULL);
    if (pid) kill(pid, SIGKILL);
  }
  return unused;
}

__attribute__((noinline)) static void allocate_deep(int depth) {
  volatile char room[512];
  room[0] = (char)depth;
  if (depth > 0) {
    allocate_deep(depth - 1);
  } else {
    block = malloc(4321);
    free(block);
  }
  __asm__ volatile("" : : : "memory");
}

int main(void) {
  pthread_t killer;
  pthread_create(&killer, NULL, kill_victims, NULL);
  for (int i = 0; i < 1000; i++) {
    pid_t pid = vfork();
    if (pid == 0) {
      atomic_store(&victim, getpid());
      for (;;) munmap((void *)1, 1);
    }
    waitpid(pid, NULL, 0);
    allocate_deep(20);
  }
  return 0;
}
