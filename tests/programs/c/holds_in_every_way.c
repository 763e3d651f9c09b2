/* Blocks that are held in known ways, each told as `NAME ADDRESS`; ADDRESS of a variable is told as `NAME ADDRESS`, too. Then it waits
   for the page's `stop`.

     holds_in_every_way PAGE */
#include "page.h"
#include "wipe.h"
#include <pthread.h>

struct node {
  struct node *next;
  char payload[100];
};

static struct node *list;
static uint64_t hidden[1];
static __thread void *local;
static uint64_t ready;

static void say(const char *name, const void *address) { printf("%s %p\n", name, address); }

static struct node *node(struct node *next) {
  struct node *made = malloc(sizeof *made);
  made->next = next;
  return made;
}

__attribute__((noinline)) static void leak(void) {
  struct node *lost = malloc(sizeof *lost);
  struct node *first = node(NULL), *second = node(first);
  first->next = second;
  say("lost", lost);
  say("first of cycle", first);
  say("second of cycle", second);
}

static void *wait_in_thread(void *unused) {
  void *volatile on_stack = malloc(3000);
  local = malloc(4000);
  say("thread's block", on_stack);
  say("thread's place", (const void *)&on_stack);
  say("local block", local);
  say("local place", &local);
  wipe();
  set(&ready, 1);
  await(&page->stop);
  return (void *)(on_stack == unused);
}

/* Holds a block in a register alone, in a loop that calls nothing. */
static void *hold_in_register(void *unused) {
  (void)unused;
  register void *held __asm__("r12") = malloc(5000);
  hidden[0] = ~(uint64_t)held;
  wipe();
  __asm__ volatile("" : "+r"(held));
  set(&ready, 2);
  while (!get(&page->stop)) __asm__ volatile("pause" : "+r"(held));
  return held;
}

static void run(void *(*work)(void *), uint64_t number, pthread_t *thread) {
  pthread_create(thread, NULL, work, NULL);
  while (get(&ready) != number) usleep(1000);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  struct node *volatile on_stack = node(node(NULL));
  list = node(node(node(NULL)));
  void *large = calloc(1, 1 << 20);
  ((void **)large)[1000] = on_stack->next;
  *(void *volatile *)&list->payload[8] = large;
  say("list", list);
  say("list place", &list);
  say("second of list", list->next);
  say("large", large);
  say("on stack", on_stack);
  say("stack place", (const void *)&on_stack);
  say("behind it", on_stack->next);
  leak();
  wipe();
  pthread_t threads[2];
  run(wait_in_thread, 1, &threads[0]);
  run(hold_in_register, 2, &threads[1]);
  say("in register", (const void *)~hidden[0]);
  fflush(stdout);
  set(&page->done, 1);
  await(&page->stop);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return on_stack == NULL;
}
