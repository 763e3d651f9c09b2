/* Allocates and frees in one function as often as it is told, and keeps a few blocks.

     allocates_often TIMES */
#include <stdlib.h>

static void *volatile kept[10];

int main(int count, char **arguments) {
  long times = count > 1 ? atol(arguments[1]) : 0;
  for (long time = 0; time < times; time++) free(malloc(40));
  for (int place = 0; place < 10; place++) kept[place] = malloc(100);
  return 0;
}
