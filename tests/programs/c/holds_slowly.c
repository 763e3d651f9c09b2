/* Takes some mebibytes, one after the other, with a rest after each, and keeps them.

     holds_slowly MEBIBYTES MICROSECONDS */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void load(void) {
  char *volatile block = malloc(1 << 20);
  if (block != NULL) memset(block, 1, 1 << 20);
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  for (int left = atoi(arguments[1]); left > 0; left--) {
    load();
    usleep((useconds_t)atoi(arguments[2]));
  }
  return 0;
}
