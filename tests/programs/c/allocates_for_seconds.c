/* Allocates a quarter of a second long in each of so many turns, keeps a block of each, and ends.

     allocates_for_seconds TURNS */
#include <stdlib.h>
#include <unistd.h>

static void *kept[1000];

__attribute__((noinline)) static void keep(int turn) {
  kept[turn] = malloc(1000);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void churn(void) {
  void *block = malloc(100);
  __asm__ volatile("" ::"r"(block) : "memory");
  free(block);
  __asm__ volatile("" ::: "memory");
}

int main(int count, char **arguments) {
  int turns = count > 1 ? atoi(arguments[1]) : 1;
  for (int turn = 0; turn < turns && turn < 1000; turn++) {
    keep(turn);
    for (int i = 0; i < 100; i++) {
      churn();
      usleep(2500);
    }
  }
  return 0;
}
