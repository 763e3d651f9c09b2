// A plug-in whose constructor starts a thread and waits for it, while the loader holds its lock.
#include <cstdlib>
#include <thread>

static struct Starter {
  Starter() {
    std::thread([] {
      int *volatile number = new int(1);
      delete number;
    }).join();
  }
} starter;

extern "C" void *lend() { return malloc(77); }
