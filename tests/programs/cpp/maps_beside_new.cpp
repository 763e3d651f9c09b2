// Maps ten megabytes, the last of them in a signal handler, beside an allocator that maps pages, too, whose calls fail in between.
#include <csignal>
#include <cstdint>
#include <new>
#include <sys/mman.h>

static void map() { mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static void handle(int) { map(); }

int main() {
  signal(SIGUSR1, handle);
  for (int i = 0; i < 9; i++) {
    operator delete(operator new(2901));
    volatile size_t huge = SIZE_MAX / 2;
    try {
      operator delete(operator new(huge));
      return 1;
    } catch (const std::bad_alloc &) {
    }
    map();
  }
  raise(SIGUSR1);
}
