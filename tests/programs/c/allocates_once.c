/* Allocates once and is gone. */
#include "say.h"

__attribute__((noinline)) static void only_place(void) { free(malloc(1001)); }

int main(void) {
  only_place();
  _exit(0);
}
