/* Starts threads one after the other, in each of which a list grows that a variable holds, and one of whose blocks is held by nothing but
   what the last of them has left on its stack and in its arena. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *next;
  char payload[100];
};

static struct node *list;

/* Leaves an address of a block on the stack, and in a block that is free again. */
__attribute__((noinline)) static void forget(void) {
  void **holder = malloc(2000);
  void *volatile forgotten[64];
  for (int i = 0; i < 64; i++) forgotten[i] = NULL;
  forgotten[32] = malloc(5000);
  holder[100] = forgotten[32];
  __asm__ volatile("" : : "r"(holder), "r"(forgotten) : "memory");
  free(holder);
}

static void *work(void *unused) {
  for (int i = 0; i < 10; i++) {
    struct node *made = calloc(1, sizeof *made);
    made->next = list;
    list = made;
  }
  forget();
  return unused;
}

int main(void) {
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
  }
  return 0;
}
