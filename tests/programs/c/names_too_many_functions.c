/* Becomes itself with so little memory that its recording has little room, and allocates in five thousand functions with long names,
   which an interpreter would run. */
#include "say.h"
#include "sysprof_memprof.h"
#include <sys/resource.h>
#include <sys/syscall.h>

enum { FUNCTIONS = 5000 };
static memprof_function_t running;

static size_t say(struct memprof_frame *frames, size_t room) {
  if (running == 0 || room == 0) return 0;
  frames[0] = (struct memprof_frame){.function = running, .line = 1};
  return 1;
}

int main(int count, char **arguments) {
  struct rlimit little = {1ul << 30, 1ul << 30};
  if (count < 2) {
    char *again[] = {arguments[0], "again", NULL};
    /* The call itself: the limit is not to grow by what the first recording has. */
    if (syscall(SYS_prlimit64, 0, RLIMIT_AS, &little, NULL) != 0) return 2;
    execv(arguments[0], again);
    return 3;
  }
  memprof_set_stack_provider(say);
  static char name[240], file[240];
  memset(name, 'n', sizeof name - 1);
  memset(file, 'f', sizeof file - 1);
  for (int i = 0; i < FUNCTIONS; i++) {
    name[snprintf(name, sizeof name, "f%d", i)] = 'n';
    running = memprof_function(name, file);
    free(malloc(2600));
  }
  return 0;
}
