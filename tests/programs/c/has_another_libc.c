/* Built with another C library: allocates, and says so. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  free(malloc(3301));
  puts("another C library");
  return 0;
}
