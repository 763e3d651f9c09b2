/* Allocates before main: in a constructor of the program. */
#include "say.h"

static void *block;

__attribute__((constructor)) static void before_main(void) { block = malloc(1234); }

int main(void) {
  free(block);
  return 0;
}
