/* Forks a child, which holds a block and says its pid on the page, and waits with it until the page says stop.

     serves_by_one_child PAGE */
#include "page.h"
#include <sys/wait.h>

static void *volatile block;

int main(int count, char **words) {
  if (count < 2) return 1;
  map_page(words[1]);
  block = malloc(77);
  pid_t child = fork();
  if (child == 0) {
    block = malloc(99);
    set(&page->pid, (uint64_t)getpid());
    set(&page->done, 1);
    await(&page->stop);
    return 0;
  }
  waitpid(child, NULL, 0);
  return 0;
}
