/* Called by libc: from sorting, from searching, from walking a tree, at exit. */
#include "probe.h"
#include <search.h>
#include <stdlib.h>

static size_t next_size = 70000;

static int compare(const void *left, const void *right) {
  probe(++next_size);
  return *(const int *)left - *(const int *)right;
}

static void at_exit(void) {
  probe(79999);
  STAY();
}

static void visit(const void *node, VISIT visit, int depth) {
  (void)node, (void)visit, (void)depth;
  probe(++next_size);
}

int main(void) {
  int numbers[5] = {3, 1, 2, 5, 4}, key = 4;
  void *root = NULL;
  atexit(at_exit);
  qsort(numbers, 5, sizeof *numbers, compare);
  if (bsearch(&key, numbers, 5, sizeof *numbers, compare) == NULL) return 1;
  tsearch(&numbers[0], &root, compare);
  tsearch(&numbers[1], &root, compare);
  twalk(root, visit);
  return 0;
}
