/* Allocates in one thread, which another one sends SIGSEGV all the time: each comes to its handler before the next is sent. One that
   does not come ends the program with 3. Counts its rounds in a page, and those of the signals.

     is_sent_faults PAGE [ignores]

   ignores    ignores the signal, and sends none */
#include "page.h"
#include <pthread.h>
#include <signal.h>

enum { PATIENCE = 10, LIFE = 120, REST_US = 50 };

static uint64_t come;

static void count(int signal) {
  (void)signal;
  __atomic_fetch_add(&come, 1, __ATOMIC_SEQ_CST);
}

static void *send(void *receiver) {
  for (uint64_t sent = 0; !get(&page->stop); sent++) {
    uint64_t since = now_ns();
    while (get(&come) < sent) {
      if (now_ns() - since > PATIENCE * 1000000000ull) _exit(3);
      usleep(10);
    }
    set(&page->threads[1].mallocs_done, sent);
    usleep(REST_US);
    pthread_kill(*(pthread_t *)receiver, SIGSEGV);
  }
  return NULL;
}

int main(int number, char **arguments) {
  alarm(LIFE);
  map_page(arguments[1]);
  pthread_t self = pthread_self(), sender;
  int ignores = number > 2;
  signal(SIGSEGV, ignores ? SIG_IGN : count);
  if (!ignores && pthread_create(&sender, NULL, send, &self) != 0) return 2;
  while (!get(&page->stop)) {
    void *block = malloc(1502);
    __asm__ volatile("" ::"r"(block) : "memory");
    free(block);
    __atomic_fetch_add(&page->threads[0].mallocs_done, 1, __ATOMIC_SEQ_CST);
    usleep(20);
  }
  if (!ignores) pthread_join(sender, NULL);
  return 5;
}
