/* An interpreter of a toy language that calls itself for each call of a script, and says what it runs.
 *
 *   toy_interpreter nothing|says|allocates
 *
 * The script: `start` calls `fill` at line 3 and `keep` at line 4; `fill` calls `keep` at line 12. `keep` has a block of
 * 111 bytes when it was called by `start`, and one of 222 bytes by `fill`. Before it and after it the interpreter itself has
 * blocks of 333 and 444 bytes. With `allocates`, whoever asks it for the stack makes it allocate. */
#include "say.h"
#include "sysprof_memprof.h"
#include <errno.h>

struct function {
  const char *name;
  memprof_function_t number;
};

/* One call of the script, on the machine's stack. */
struct call {
  const struct function *function;
  unsigned line;
  const struct call *caller;
};

static _Thread_local const struct call *innermost;
static int allocates, asked;

static size_t say(struct memprof_frame *frames, size_t room) {
  size_t count = 0;
  asked++;
  if (allocates) free(malloc(7));
  errno = EIO;
  for (const struct call *call = innermost; call; call = call->caller, count++)
    if (count < room)
      frames[count] = (struct memprof_frame){call->function->number, call->line, call};
  return count;
}

static struct function start = {"start", 0}, fill = {"fill", 0}, keep = {"keep", 0};
static void *volatile block;

__attribute__((noinline)) static void builtin_block(size_t size) {
  block = malloc(size);
  free(block);
}

__attribute__((noinline)) static void eval(const struct function *function, size_t size) {
  struct call call = {function, 1, innermost};
  innermost = &call;
  if (function == &start) {
    call.line = 3;
    eval(&fill, 222);
    call.line = 4;
    eval(&keep, 111);
  } else if (function == &fill) {
    call.line = 12;
    eval(&keep, size);
  } else {
    call.line = 21;
    builtin_block(size);
  }
  innermost = call.caller;
}

int main(int count, char **arguments) {
  struct function *all[] = {&start, &fill, &keep};
  if (count < 2) return 2;
  for (int i = 0; i < 3; i++) all[i]->number = memprof_function(all[i]->name, "main.toy");
  builtin_block(333);
  allocates = strcmp(arguments[1], "allocates") == 0;
  if (strcmp(arguments[1], "nothing") != 0) memprof_set_stack_provider(say);
  errno = 0;
  eval(&start, 0);
  int kept = errno == 0, was_ours = memprof_set_stack_provider(NULL) == say;
  builtin_block(444);
  printf("%d %d %d\n", kept, was_ours, asked);
  return 0;
}
