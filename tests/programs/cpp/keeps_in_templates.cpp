// A function whose name has template arguments allocates.
#include <utility>

template <class T>
__attribute__((noinline)) T *keep() {
  T *kept = new T[10];
  __asm__ volatile("");
  return kept;
}

int main() {
  delete[] keep<std::pair<int, std::pair<long, char>>>();
}
