/* Has 50 threads whose last destructors, which are called in rounds, let a block grow and give it back in the end. */
#include "say.h"
#include <limits.h>
#include <pthread.h>

struct Block {
  int rounds;
  char *bytes;
};

static pthread_key_t key;

static void grow(void *argument) {
  struct Block *block = argument;
  block->rounds++;
  block->bytes = realloc(block->bytes, 2100 + 100 * block->rounds);
  if (block->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(key, block);
    return;
  }
  free(block->bytes);
  free(block);
}

static void *run(void *unused) {
  struct Block *block = calloc(1, sizeof *block);
  block->bytes = malloc(2100);
  pthread_setspecific(key, block);
  return unused;
}

int main(void) {
  pthread_key_create(&key, grow);
  for (int turn = 0; turn < 50; turn++) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
  }
  return 0;
}
