/* Holds blocks from where they are easily overlooked, and ends:

     holds_in_odd_places closed map | closed block | own stack | before a start | freed in a pause */
#include "sysprof_memprof.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 100, BYTES = 1 << 20 };

static void **volatile table;

static void fill(void) {
  for (int i = 0; i < BLOCKS; i++) table[i] = malloc(100);
}

static void *end_here(void *unused) {
  (void)unused;
  exit(0);
}

/* A thread on a block, in whose lower part the table is. */
static void run_on_a_block(void) {
  void *block = NULL;
  pthread_attr_t attributes;
  pthread_t thread;
  if (posix_memalign(&block, 4096, BYTES)) _exit(2);
  table = block;
  fill();
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, (char *)block + BYTES / 2, BYTES / 2)) _exit(2);
  if (pthread_create(&thread, &attributes, end_here, NULL)) _exit(2);
  for (;;) pause();
}

int main(int count, char **words) {
  const char *way = count > 1 ? words[1] : "";
  void *block = NULL;
  if (!strcmp(way, "closed map")) {
    table = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill();
    mprotect(table, BYTES, PROT_READ);
  } else if (!strcmp(way, "closed block")) {
    if (posix_memalign(&block, 4096, BYTES)) return 2;
    table = block;
    fill();
    mprotect(block, BYTES, PROT_READ);
  } else if (!strcmp(way, "own stack")) {
    run_on_a_block();
  } else if (!strcmp(way, "before a start")) {
    memprof_stop();
    table = malloc(BLOCKS * sizeof *table);
    memprof_start();
    fill();
  } else if (!strcmp(way, "freed in a pause")) {
    table = calloc(BLOCKS, sizeof *table);
    fill();
    memprof_stop();
    for (int i = 0; i < BLOCKS; i++) {
      free(table[i]);
      table[i] = NULL;
    }
    memprof_start();
  } else {
    return 2;
  }
  return 0;
}
