/* Waits for the page's `go`, and ends with a list of three blocks that a variable holds, a block that nobody holds, which holds another,
   and two that hold each other.

     ends_with_blocks PAGE [_exit | child] */
#include "page.h"
#include "wipe.h"
#include <string.h>
#include <sys/wait.h>

struct node {
  struct node *next;
  char payload[100];
};

static struct node *list;

__attribute__((noinline)) static struct node *node(struct node *next) {
  struct node *made = malloc(sizeof *made);
  made->next = next;
  return made;
}

__attribute__((noinline)) static void keep(void) {
  for (int i = 0; i < 3; i++) list = node(list);
}

__attribute__((noinline)) static void lose(void) {
  struct node **lost = malloc(24);
  *lost = malloc(48);
  __asm__ volatile("" : : "r"(lost) : "memory");
}

__attribute__((noinline)) static void lose_a_cycle(void) {
  struct node *first = node(NULL), *second = node(first);
  first->next = second;
  __asm__ volatile("" : : "r"(first) : "memory");
}

static void work(void) {
  keep();
  lose();
  lose_a_cycle();
  wipe();
}

int main(int count, char **words) {
  const char *way = count > 2 ? words[2] : "";
  map_page(words[1]);
  await(&page->go);
  if (!strcmp(way, "child")) {
    pid_t child = fork();
    if (child == 0) {
      work();
      return 3;
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  work();
  set(&page->done, 1);
  if (!strcmp(way, "_exit")) _exit(3);
  return 3;
}
