/* Marks between allocations, with names of all lengths and of any bytes. */
#include "say.h"
#include "sysprof_memprof.h"

static char name[10001];

static const char *of_length(size_t length) {
  memset(name, 'x', length);
  name[length] = 0;
  return name;
}

int main(void) {
  free(malloc(1));
  memprof_mark_begin("region");
  free(malloc(2));
  memprof_mark("");
  free(malloc(3));
  memprof_mark(of_length(1));
  memprof_mark(of_length(8));
  free(malloc(4));
  memprof_mark(of_length(255));
  memprof_mark(of_length(10000));
  free(malloc(5));
  memprof_mark("\xff\xfe\033[31m");
  memprof_mark(NULL);
  memprof_mark_end("region");
  free(malloc(6));
  return 0;
}
