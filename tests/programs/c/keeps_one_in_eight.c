/* A short life: of 2,000 blocks of 24 bytes each eighth stays. */
#include <stdlib.h>

int main(void) {
  for (int i = 0; i < 2000; i++) {
    void *volatile block = malloc(24);
    if (i & 7) free(block);
  }
  return 0;
}
