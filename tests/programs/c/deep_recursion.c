/* Allocates at the bottom of a recursion, as deep as the argument says. */
#include "say.h"

__attribute__((noinline)) static int down(int depth) {
  volatile int result = depth;
  if (depth > 0) {
    result += down(depth - 1);
  } else {
    free(malloc(70001));
  }
  return result;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  printf("%d\n", down(atoi(arguments[1])));
  return 0;
}
