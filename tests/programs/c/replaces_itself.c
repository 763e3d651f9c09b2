/* Puts another build in the place of its own file, and then allocates, and computes for some milliseconds. Arguments:
 * how (`rename`, or `remove`: the new file mostly gets the inode of the old one), the other build, milliseconds. */
#include "say.h"
#include "work.h"

#ifdef PADDED
__attribute__((used, noinline)) static void padding(void) { __asm__ volatile(".fill 4096, 1, 0x90"); }
#endif

__attribute__((noinline)) static void *FUNCTION(long milliseconds) {
  void *block = malloc(4568);
  work(milliseconds);
  __asm__ volatile("");
  return block;
}

int main(int count, char **arguments) {
  if (count != 4) return 1;
  const char *own = arguments[0], *other = arguments[2];
  if (strcmp(arguments[1], "remove") == 0) {
    static char command[8192];
    snprintf(command, sizeof command, "rm '%s' && cp '%s' '%s'", own, other, own);
    if (system(command) != 0) return 2;
  } else if (rename(other, own) != 0) {
    return 3;
  }
  free(FUNCTION(atol(arguments[3])));
  return 0;
}
