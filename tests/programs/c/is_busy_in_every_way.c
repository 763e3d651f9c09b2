/* Gives every kind of source something to see, one after the other: work of the processor, a block, a mark, a block, pages
 * that are touched and kept until somebody has seen them, work again, and a child that has a block of its own.

     is_busy_in_every_way PAGE */
#include "page.h"
#include "sysprof_memprof.h"
#include "work.h"
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGES ((size_t)64 << 20)

__attribute__((noinline)) static void before(void) {
  work(250);
  sink++;
}

__attribute__((noinline)) static void after(void) {
  work(250);
  sink++;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  before();
  void *volatile first = malloc(2001);
  memprof_mark("middle");
  void *volatile second = malloc(2002);
  char *pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 1;
  memset(pages, 1, PAGES);
  after();
  await(&page->go);
  munmap(pages, PAGES);
  pid_t child = fork();
  if (child == 0) {
    void *volatile block = malloc(3001);
    free(block);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  free(first);
  free(second);
  return WEXITSTATUS(status);
}
