// Allocates where exceptions pass: when one is thrown, in destructors while the stack is unwound, in handlers.
extern "C" {
#include "../c/probe.h"
}
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline))

struct Witness {
  std::size_t size;
  ~Witness() { probe(size); }
};

NOINLINE static int thrower(int depth) {
  Witness witness{70000u + static_cast<std::size_t>(depth)};
  if (depth == 0) throw std::runtime_error(std::string(100, 'x'));
  return thrower(depth - 1) + 1;
}

struct FromConstructor {
  Witness witness{70020};
  FromConstructor() {
    probe(70021);
    throw 7;
  }
};

NOINLINE static void rethrower() {
  try {
    thrower(2);
  } catch (...) {
    probe(70030);
    throw;
  }
}

int main() {
  try {
    rethrower();
  } catch (const std::exception &) {
    probe(70031);
  }
  try {
    FromConstructor{};
  } catch (int) {
    probe(70032);
  }
  auto closure = [](std::size_t size) { probe(size); };
  closure(70033);
}
