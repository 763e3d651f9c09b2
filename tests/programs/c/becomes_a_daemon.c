/* Becomes a daemon: the process that had the blocks is gone by the time the one that inherited them frees them. */
#include "say.h"

enum { INHERITED = 50 };

int main(void) {
  void *inherited[INHERITED];
  for (int i = 0; i < INHERITED; i++) inherited[i] = malloc(506);
  if (daemon(1, 1) != 0) return 1;
  usleep(50000);
  for (int i = 0; i < INHERITED; i++) free(inherited[i]);
  _exit(3);
}
