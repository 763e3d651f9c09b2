// Allocates in five hundred functions with names of their own.
#include <cstdlib>
#include <utility>

template <int Number>
__attribute__((noinline)) void allocate_in_a_function_of_its_own() {
  void *volatile block = std::malloc(Number + 1);
  std::free(block);
}

template <int... Numbers>
void allocate_in_all(std::integer_sequence<int, Numbers...>) {
  (allocate_in_a_function_of_its_own<Numbers>(), ...);
}

int main() { allocate_in_all(std::make_integer_sequence<int, 500>()); }
