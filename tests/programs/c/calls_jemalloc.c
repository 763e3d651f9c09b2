/* Calls what jemalloc has beside malloc and its kin, a hundred times each; half of the blocks it gives back, in each way. */
#include "say.h"

void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);

int main(void) {
  for (int turn = 0; turn < 100; turn++) {
    void *first = mallocx(1001, 0);
    void *second = mallocx(1088, 6);
    void *third = rallocx(malloc(1003), 5004, 0);
    if (first == NULL || second == NULL || third == NULL) return 1;
    if (turn % 2 == 0) {
      dallocx(first, 0);
      sdallocx(second, 1088, 6);
      free(third);
    }
  }
  return 0;
}
