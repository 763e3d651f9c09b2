/* A server that limits its memory to 2 GiB, alone or in a child, when it is told to go, and then takes 64 MiB of that. Ends as others
   do if it got them, and if it is told of the limit that it has set.

     limits_itself_late PAGE [child] */
#include "page.h"
#include <sys/resource.h>
#include <sys/wait.h>

static int limit(void) {
  struct rlimit wanted = {2ul << 30, 2ul << 30}, told;
  if (setrlimit(RLIMIT_AS, &wanted) != 0 || getrlimit(RLIMIT_AS, &told) != 0) return 2;
  if (told.rlim_cur != wanted.rlim_cur || told.rlim_max != wanted.rlim_max) return 3;
  void *block = malloc(64 << 20);
  if (block == NULL) return 4;
  free(block);
  return 5;
}

static void serve(uint64_t *end) {
  while (!get(end)) {
    free(malloc(2000));
    set(&page->threads[0].mallocs_done, get(&page->threads[0].mallocs_done) + 1);
    usleep(10);
  }
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  if (count > 2) {
    pid_t child = fork();
    if (child == 0) _exit(limit());
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  serve(&page->go);
  int result = limit();
  set(&page->done, 1);
  serve(&page->stop);
  struct rlimit told;
  return getrlimit(RLIMIT_AS, &told) != 0 || told.rlim_cur != 2ul << 30 ? 6 : result;
}
