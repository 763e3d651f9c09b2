// Keeps objects of classes, each as many as said, and loses some: of a class with virtual functions, of a template, of one that nobody
// else sees, of one with two bases, behind a shared_ptr, and of one without virtual functions.
#include "../c/wipe.h"
#include <cstdlib>
#include <memory>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int sides() const = 0;
};

struct Named {
  virtual ~Named() = default;
  virtual const char *name() const { return "named"; }
};

struct Square : Shape {
  int sides() const override { return 4; }
  char body[56];
};

template <class Content> struct Box : Shape {
  int sides() const override { return 6; }
  Content content;
};

namespace {
struct Hidden : Shape {
  int sides() const override { return 0; }
};
} // namespace

// Its second part has a table of its own, which is no object's.
struct Both : Shape, Named {
  int sides() const override { return 1; }
  Square *holds = nullptr;
};

struct Plain {
  char body[100];
};

static std::vector<Shape *> shapes;
static std::vector<Named *> named;
static std::shared_ptr<Square> shared;
static Plain *plain;

__attribute__((noinline)) static void fill() {
  for (int i = 0; i < 10; i++) shapes.push_back(new Square);
  for (int i = 0; i < 5; i++) shapes.push_back(new Box<double>);
  for (int i = 0; i < 2; i++) shapes.push_back(new Hidden);
  for (int i = 0; i < 3; i++) {
    Both *both = new Both;
    both->holds = new Square;
    // Only what leads into its middle keeps it.
    named.push_back(both);
  }
  shared = std::make_shared<Square>();
  plain = new Plain;
}

__attribute__((noinline)) static void lose() {
  for (int i = 0; i < 4; i++) {
    Shape *lost = new Square;
    __asm__ volatile("" : : "r"(lost) : "memory");
  }
}

int main() {
  fill();
  lose();
  wipe();
  // Without destructors, so that all is still there.
  std::_Exit(0);
}
