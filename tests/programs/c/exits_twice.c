/* Ends with code 4, while another thread wants to end it with code 5. There is so much to look at that the second comes meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int is_exiting;

static void *end(void *nothing) {
  (void)nothing;
  while (!atomic_load(&is_exiting)) {}
  usleep(2000);
  _exit(5);
}

__attribute__((destructor)) static void begin(void) { atomic_store(&is_exiting, 1); }

int main(void) {
  for (int i = 0; i < 100000; i++) {
    void *volatile block = malloc(200);
    (void)block;
  }
  pthread_t thread;
  pthread_create(&thread, NULL, end, NULL);
  exit(4);
}
