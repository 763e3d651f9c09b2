/* A thread that is asked for the stack of its first recorded block and does not answer, so that it stays in the hook, while
 * the first thread goes on.
 *
 *   waits_in_a_hook FILE
 *
 * Makes FILE when the thread waits. When FILE has gone, the recording is over: the first thread makes some calls more, lets
 * the other one out of the hook, where it makes none, and then makes another thousand, of 64 bytes each. Prints whether
 * memory of the recording is still mapped then. */
#include "say.h"
#include "sysprof_memprof.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

static _Thread_local int is_slow;
static atomic_int waits, may_go, is_out;
static void *volatile kept;

static size_t say_nothing(struct memprof_frame *frames, size_t room) {
  (void)frames;
  (void)room;
  if (!is_slow) return 0;
  is_slow = 0;
  waits = 1;
  while (!may_go) usleep(1000);
  return 0;
}

static void call(int times) {
  for (int i = 0; i < times; i++) free(malloc(64));
}

static void *wait_in_a_hook(void *unused) {
  is_slow = 1;
  /* Blocks that are not freed: another call would come after the hook. */
  while (!waits) {
    kept = malloc(64);
    usleep(1000);
  }
  is_out = 1;
  for (;;) pause();
  return unused;
}

static char maps[1 << 20];

int main(int count, char **arguments) {
  if (count < 2) return 1;
  memprof_set_stack_provider(say_nothing);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_in_a_hook, NULL);
  while (!waits) {
    call(1);
    usleep(1000);
  }
  close(open(arguments[1], O_CREAT | O_WRONLY, 0600));
  while (access(arguments[1], F_OK) == 0) usleep(1000);
  call(100);
  may_go = 1;
  while (!is_out) usleep(1000);
  call(1000);
  int file = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  for (ssize_t got; (got = read(file, maps + length, sizeof maps - 1 - length)) > 0;) length += (size_t)got;
  puts(strstr(maps, "memfd:sysprof") ? "mapped" : "gone");
  return 0;
}
