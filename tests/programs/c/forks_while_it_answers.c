/* Rings its own doorbell and lets nobody answer: while one of its threads waits for that, the first one forks a child, again and
   again. Then all allocate until they are told to stop, each counted in its place of the page.

     forks_while_it_answers PAGE FOLDER */
#include "page.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { CHILDREN = 7 };
struct doorbell {
  uint32_t generation, pid;
  uint64_t magic;
};
static atomic_int is_over;

static void *answer(void *unused) {
  while (!is_over) {
    free(malloc(1900));
    usleep(50);
  }
  return unused;
}

static void serve(int number) {
  for (int lap = 0; !get(&page->stop); lap++) {
    free(malloc(1901));
    set(&page->threads[number].mallocs_done, get(&page->threads[number].mallocs_done) + 1);
    usleep(100);
  }
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  alarm(120);
  map_page(arguments[1]);
  char path[256];
  snprintf(path, sizeof path, "%s/doorbell", arguments[2]);
  int file = open(path, O_RDWR | O_CLOEXEC);
  struct doorbell *doorbell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path, sizeof name.sun_path, "%s/attach", arguments[2]);
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (doorbell == MAP_FAILED || bind(listener, (struct sockaddr *)&name, sizeof name) != 0 || listen(listener, 8) != 0) return 2;
  pthread_t thread;
  pthread_create(&thread, NULL, answer, NULL);
  for (int number = 1; number <= CHILDREN; number++) {
    __atomic_store_n(&doorbell->pid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&doorbell->generation, 1, __ATOMIC_SEQ_CST);
    int caller = accept(listener, NULL, NULL);
    /* From here on, and for 5 ms, the other thread waits. */
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      set(&page->threads[number].mallocs_begun, (uint64_t)getpid());
      serve(number);
      _exit(0);
    }
    close(caller);
  }
  is_over = 1;
  pthread_join(thread, NULL);
  close(listener);
  unlink(name.sun_path);
  set(&page->done, 1);
  serve(0);
  while (wait(NULL) > 0) {}
  return 5;
}
