// Allocates in initializers of global objects, in a constructor and a destructor of the program, and in main.
#include <cstdlib>

static void *volatile block;

struct Object {
  explicit Object(int size) { block = malloc(size); }
  ~Object() { block = malloc(3003); }
};

static Object object(1001);

__attribute__((constructor)) static void constructor() { block = malloc(2002); }

int main() {
  block = malloc(4004);
  return 0;
}
