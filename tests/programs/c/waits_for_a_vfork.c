/* Its only thread waits for the child of a vfork, which runs on its memory until the page says stop.

     waits_for_a_vfork PAGE */
#define _GNU_SOURCE
#include "page.h"
#include <sys/wait.h>

int main(int count, char **words) {
  if (count < 2) return 1;
  map_page(words[1]);
  void *volatile block = malloc(77);
  pid_t child = vfork();
  if (child == 0) {
    set(&page->done, 1);
    await(&page->stop);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return block == NULL;
}
