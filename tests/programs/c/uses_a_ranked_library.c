/* Allocates more than the library that it calls. */
#include <stdlib.h>

void library_enter(int times);

int main(void) {
  for (int time = 0; time < 1000; ++time) free(malloc(10));
  library_enter(10);
  return 0;
}
