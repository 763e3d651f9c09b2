// A second thread calls operator new while nobody records, and malloc for as many bytes when it is told to go on. The first one
// allocates all the time, until it is told to stop.
//
//   announces_at_rest PAGE
#include "../c/page.h"
#include <new>
#include <thread>

enum { SIZE = 1100 };
static void *kept;

static void second() {
  // After the first ones the thread knows that nobody records.
  for (int i = 0; i < 100; i++) operator delete(operator new(SIZE));
  kept = operator new(SIZE);
  set(&page->threads[1].mallocs_done, 1000);
  await(&page->go);
  kept = malloc(SIZE);
  set(&page->done, 1);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  std::thread thread(second);
  for (uint64_t calls = 1; !get(&page->stop); calls++) {
    free(malloc(24));
    set(&page->threads[0].mallocs_done, calls);
    usleep(20);
  }
  thread.join();
  return 5;
}
