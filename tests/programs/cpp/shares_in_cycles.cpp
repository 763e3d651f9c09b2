// Keeps nodes in a map and some of them in a list as well, and loses pairs of nodes that share each other.
#include "../c/wipe.h"
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>

struct Node {
  std::shared_ptr<Node> other;
  std::string name;
};

static std::map<int, std::shared_ptr<Node>> registry;
static std::list<std::shared_ptr<Node>> recent;

__attribute__((noinline)) static std::shared_ptr<Node> make(int number) {
  auto node = std::make_shared<Node>();
  node->name = "a name that has no room in the string itself, number " + std::to_string(number);
  return node;
}

__attribute__((noinline)) static void fill() {
  for (int number = 0; number < 200; number++) registry[number] = make(number);
  for (int number = 0; number < 50; number++) recent.push_back(registry[number]);
}

__attribute__((noinline)) static void lose() {
  for (int number = 0; number < 30; number++) {
    auto first = make(number), second = make(number);
    first->other = second;
    second->other = first;
  }
}

int main() {
  fill();
  lose();
  wipe();
  // Without destructors, so that the registry is still there.
  std::_Exit(0);
}
