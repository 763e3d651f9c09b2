// A library with an operator new of its own.
#include <cstdlib>
#include <new>

void *operator new(std::size_t size) { return std::malloc(size); }
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

struct Block {
  char bytes[2001];
};

extern "C" void allocate() {
  Block *volatile block = new Block;
  delete block;
}
