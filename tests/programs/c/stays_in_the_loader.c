/* Allocates until it is told to stop. From when it is told to go on a second thread is in the loader, whose lock it holds.

     stays_in_the_loader PAGE */
#include "page.h"
#include <link.h>
#include <pthread.h>
#include <unistd.h>

static int hold(struct dl_phdr_info *info, size_t size, void *data) {
  (void)info, (void)size, (void)data;
  set(&page->threads[1].mallocs_done, 1);
  await(&page->stop);
  return 1;
}

static void *stay(void *unused) {
  await(&page->go);
  dl_iterate_phdr(hold, NULL);
  return unused;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  pthread_t thread;
  if (pthread_create(&thread, NULL, stay, NULL) != 0) return 2;
  for (uint64_t calls = 0; !get(&page->stop); calls++) {
    free(malloc(1100));
    set(&page->threads[0].mallocs_done, calls + 1);
    if (calls % 100 == 0) usleep(2000);
  }
  pthread_join(thread, NULL);
  set(&page->done, 1);
  return 5;
}
