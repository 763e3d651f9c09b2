/* A page that the program shares with the test, through the file that the first argument names: it stays whoever dies.

     u64 pid, go, stop, done, longest pause in ns, then for each thread: mallocs begun, done, frees begun, done */
#ifndef PAGE_H
#define PAGE_H
#include "say.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE_THREADS = 8 };

struct page {
  uint64_t pid, go, stop, done, longest_ns;
  struct page_counts {
    uint64_t mallocs_begun, mallocs_done, frees_begun, frees_done;
  } threads[PAGE_THREADS];
};

static struct page *page;

static void set(uint64_t *place, uint64_t value) { __atomic_store_n(place, value, __ATOMIC_SEQ_CST); }

static uint64_t get(uint64_t *place) { return __atomic_load_n(place, __ATOMIC_SEQ_CST); }

static void map_page(const char *path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) exit(2);
  page = (struct page *)mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) exit(2);
  close(file);
  set(&page->pid, (uint64_t)getpid());
}

static inline void await(uint64_t *place) {
  while (get(place) == 0) usleep(1000);
}

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
