/* Holds ever more memory until it is killed, or has a gibibyte. */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void hold(void) {
  char *volatile block = malloc(100000);
  if (block != NULL) memset(block, 1, 100000);
}

int main(void) {
  for (int i = 0; i < 10000; i++) hold();
  return 3;
}
