/* An allocator that takes its time after two thousand calls, and maps a page at the end of each. Ends the program when memory of a
   recording comes or goes by that: then its locks, if it had any, would be held meanwhile. */
#include "say.h"
#include <fcntl.h>
#include <sys/mman.h>

static _Alignas(16) char arena[1 << 26];
static size_t used, calls;

/* Whether memory of a recording is mapped. Reads in pieces, each with the end of the one before. */
static int is_recorded(void) {
  static char text[1 << 16];
  static const char sought[] = "memfd:sysprof";
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), is_there = 0;
  size_t kept = 0;
  for (ssize_t length; (length = read(file, text + kept, sizeof text - kept)) > 0;) {
    size_t all = kept + (size_t)length;
    is_there |= memmem(text, all, sought, sizeof sought - 1) != NULL;
    kept = all < sizeof sought ? all : sizeof sought;
    memmove(text, text + all - kept, kept);
  }
  close(file);
  return is_there;
}

static void take_time(void) {
  usleep(10000);
  int before = is_recorded();
  munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
  if (before != is_recorded()) _exit(6);
}

void *malloc(size_t size) {
  if (++calls > 2000) take_time();
  void *block = arena + used % (sizeof arena / 2);
  used += (size + 15) & ~(size_t)15;
  return block;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }

void *realloc(void *old, size_t size) {
  void *block = malloc(size);
  return old == NULL ? block : memcpy(block, old, size);
}
