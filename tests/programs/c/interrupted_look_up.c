/* A program without a C++ library that calls the `operator new` it finds, the agent's. The agent then asks the loader for modules, to see
   whether one comes next: a signal arrives. Its handler allocates, and leaves by siglongjmp if it is told so. Allocates in peace after that.
   Prints how often the handler ran.

     interrupted_look_up stays|leaves */
#include "say.h"
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf again;
static int leaves;
static volatile int is_looking, handled;

static void on_signal(int number) {
  (void)number;
  is_looking = 0;
  free(malloc(2601));
  handled++;
  if (leaves) siglongjmp(again, 1);
}

typedef int Each(struct dl_phdr_info *, size_t, void *);

int dl_iterate_phdr(Each *each, void *data) {
  int (*next)(Each *, void *) = (int (*)(Each *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
  if (is_looking) raise(SIGUSR1);
  return next(each, data);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  leaves = strcmp(arguments[1], "leaves") == 0;
  void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
  if (allocate == NULL) return 2;
  signal(SIGUSR1, on_signal);
  is_looking = 1;
  if (sigsetjmp(again, 1) == 0) free(allocate(2602));
  for (int i = 0; i < 100; i++) free(malloc(2603));
  printf("%d\n", handled);
  return 0;
}
