/* Asks each form of operator new for more than there is, and prints each call as the recording should have it. */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <vector>

static const std::size_t much = 2ul << 40;
static const std::align_val_t alignment{64};

template <class Call> __attribute__((noinline)) static void fails(const char *name, std::size_t align, Call call) {
  bool has_thrown = false;
  void *volatile block = &has_thrown;
  try {
    block = call();
  } catch (const std::bad_alloc &) {
    has_thrown = true;
  }
  if (has_thrown || block == nullptr) std::printf("%s %zu %zu\n", name, much, align);
}

__attribute__((noinline)) static void grow(std::vector<char> &bytes) { bytes.reserve(much); }

int main() {
  const rlimit limit{1ul << 40, 1ul << 40};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  fails("operator new", 0, [] { return ::operator new(much); });
  fails("operator new[]", 0, [] { return ::operator new[](much); });
  fails("operator new", 0, [] { return ::operator new(much, std::nothrow); });
  fails("operator new[]", 0, [] { return ::operator new[](much, std::nothrow); });
  fails("operator new (aligned)", 64, [] { return ::operator new(much, alignment); });
  fails("operator new[] (aligned)", 64, [] { return ::operator new[](much, alignment); });
  fails("operator new (aligned)", 64, [] { return ::operator new(much, alignment, std::nothrow); });
  fails("operator new[] (aligned)", 64, [] { return ::operator new[](much, alignment, std::nothrow); });
  fails("operator new", 0, []() -> void * {
    std::vector<char> bytes;
    grow(bytes);
    return &bytes;
  });
  return 0;
}
