/* Makes as many pools as it is told to, each with one block that stays. */
#include "say.h"
#include "sysprof_memprof.h"

int main(int count, char **arguments) {
  static char memory[1000];
  int pools = count > 1 ? atoi(arguments[1]) : 0;
  for (int number = 0; number < pools; number++) {
    char name[32];
    snprintf(name, sizeof name, "pool %d", number);
    memprof_report_alloc(memprof_pool(name), memory + number, 10);
  }
  return 0;
}
