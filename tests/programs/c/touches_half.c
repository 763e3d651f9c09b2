// Touches half of what it allocates, in three kinds of memory, frees a part, and prints what of it the kernel calls resident:
// kibibytes of [heap], of a block that libc maps by itself, and of a thread's arena. It ends by `_exit`, so that nothing changes
// after that. The argument is the number of small blocks in each heap, at most 1024.
#include "say.h"
#include <fcntl.h>
#include <pthread.h>

enum { SMALL = 16 << 10, MOST = 1024 };

static int blocks_of_each;
static char *small[MOST], *of_thread[MOST], *large, *kept;
static char text[1 << 20];

__attribute__((noinline)) static char *allocate(size_t size) { return malloc(size); }

__attribute__((noinline)) static void touch(char *block, size_t size) {
  for (size_t place = 0; place < size / 2; place += 4096) block[place] = 1;
}

__attribute__((noinline)) static void fill(char **blocks) {
  for (int block = 0; block < blocks_of_each; block++) blocks[block] = allocate(SMALL);
  for (int block = 0; block < blocks_of_each; block++) touch(blocks[block], SMALL);
}

// Those between others: libc keeps their pages.
__attribute__((noinline)) static void free_some(char **blocks) {
  for (int block = 0; block < blocks_of_each - 8; block++)
    if (block % 4 == 0) free(blocks[block]);
}

static void *worker(void *unused) {
  (void)unused;
  fill(of_thread);
  free_some(of_thread);
  return NULL;
}

static void read_smaps(void) {
  int file = open("/proc/self/smaps", O_RDONLY);
  size_t length = 0;
  for (ssize_t got; (got = read(file, text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
  text[length] = 0;
  close(file);
}

// Resident kibibytes of the mapping that a place lies in.
static long resident(const void *place) {
  int is_in = 0;
  for (char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    unsigned long from, to;
    long size;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) is_in = from <= (unsigned long)place && (unsigned long)place < to;
    if (is_in && sscanf(line, "Rss: %ld kB", &size) == 1) return size;
  }
  return -1;
}

int main(int count, char **arguments) {
  blocks_of_each = count > 1 ? atoi(arguments[1]) : MOST;
  const size_t total = (size_t)blocks_of_each * SMALL;
  pthread_t thread;
  fill(small);
  free_some(small);
  large = allocate(total), kept = allocate(total);
  touch(large, total), touch(kept, total);
  // Gives its pages back.
  free(large);
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  read_smaps();
  printf("%ld %ld %ld\n", resident(small[1]), resident(kept), resident(of_thread[1]));
  fflush(stdout);
  _exit(0);
}
