// Regions by a guard, which an exception ends, too, and a pool behind an allocator of the standard library.
#include "sysprof_memprof.h"
#include <cstdlib>
#include <stdexcept>
#include <vector>

struct Region {
  const char *name;
  explicit Region(const char *of) : name(of) { memprof_mark_begin(name); }
  ~Region() { memprof_mark_end(name); }
};

template <typename T> struct Pooled {
  using value_type = T;
  static memprof_pool_t pool() {
    static const memprof_pool_t made = memprof_pool("vectors");
    return made;
  }
  T *allocate(std::size_t count) {
    void *block = std::malloc(count * sizeof(T));
    memprof_report_alloc(pool(), block, count * sizeof(T));
    return static_cast<T *>(block);
  }
  void deallocate(T *block, std::size_t) {
    memprof_report_free(pool(), block);
    std::free(block);
  }
  bool operator==(const Pooled &) const { return true; }
  bool operator!=(const Pooled &) const { return false; }
};

int main() {
  try {
    Region outer("outer");
    Region inner("inner");
    std::vector<long, Pooled<long>> numbers(125);
    numbers.reserve(250);
    throw std::runtime_error("done");
  } catch (const std::runtime_error &) {
    memprof_mark("caught");
  }
  return 0;
}
