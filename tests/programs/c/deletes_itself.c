/* Deletes its own file, or the file of its argument, before it allocates. */
#include "say.h"
#include <unistd.h>

__attribute__((noinline)) static void *allocates_afterwards(void) {
  void *block = malloc(4567);
  __asm__ volatile("");
  return block;
}

int main(int count, char **arguments) {
  if (unlink(arguments[count > 1]) != 0) return 1;
  free(allocates_afterwards());
  return 0;
}
