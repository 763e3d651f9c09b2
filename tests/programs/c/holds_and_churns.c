/* Holds a kilobyte more each turn, in one function, and allocates and frees much in another, until it is told to stop.

     holds_and_churns PAGE */
#include "page.h"
#include <unistd.h>

/* More than five minutes of turns: whoever looks meanwhile sees it grow. */
enum { MOST = 1 << 16, LAP = 1000 };
static void *held[MOST];

__attribute__((noinline)) static void hold(void **place) {
  *place = malloc(1024);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void churn(void) {
  for (int i = 0; i < LAP; i++) {
    void *block = malloc(64);
    __asm__ volatile("" ::"r"(block) : "memory");
    free(block);
  }
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  for (int turn = 0; !get(&page->stop); turn++) {
    if (turn < MOST) hold(&held[turn]);
    churn();
    struct page_counts *counts = &page->threads[0];
    set(&counts->mallocs_done, get(&counts->mallocs_done) + LAP);
    usleep(5000);
  }
  uintptr_t seen = 0;
  for (int i = 0; i < MOST; i++) seen |= (uintptr_t)held[i];
  return seen == 0 ? 1 : 5;
}
