// Functions allocate more the later they stand here, and one of them never runs.
#include <cstdlib>

namespace rank {
template <int Number>
__attribute__((noinline)) void grow(int times) {
  for (int time = 0; time < times; ++time) std::free(std::malloc(Number));
}
}  // namespace rank

extern "C" __attribute__((noinline)) void never_runs() { std::free(std::malloc(1)); }
template void rank::grow<10>(int);
template void rank::grow<20>(int);

extern "C" __attribute__((noinline)) void grows_most() {
  for (int time = 0; time < 100; ++time) std::free(std::malloc(30));
}

int main(int arguments, char **) {
  if (arguments > 9) never_runs();
  rank::grow<10>(1);
  rank::grow<20>(10);
  grows_most();
}
