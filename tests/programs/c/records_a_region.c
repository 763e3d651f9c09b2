/* Wants nothing recorded but what it allocates between a start and a stop. */
#include "say.h"
#include "sysprof_memprof.h"

static void *volatile kept[4];

int main(void) {
  free(malloc(101));
  kept[0] = malloc(102);
  memprof_start();
  memprof_start();
  kept[1] = malloc(1001);
  kept[2] = malloc(1002);
  free(malloc(1003));
  free(kept[0]);
  memprof_stop();
  memprof_stop();
  /* Freed while nobody looks, and the place taken by another. */
  free(kept[1]);
  kept[1] = malloc(1001);
  free(malloc(103));
  memprof_start();
  free(kept[1]);
  kept[3] = malloc(1004);
  memprof_stop();
  free(malloc(104));
  return 0;
}
