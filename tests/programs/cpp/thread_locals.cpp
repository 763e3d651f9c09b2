// Objects of threads, whose destructors run when these end, after main's and in the order of C++.
#include "../c/say.h"
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Local {
  std::unique_ptr<char[]> block{new char[1701]};
  ~Local() {
    block.reset();
    delete[] new char[1702];
  }
};

static thread_local Local local;

int main() {
  for (int round = 0; round < 50; round++) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([] { local.block[0] = 1; });
    for (auto &thread : threads) thread.join();
  }
  local.block[0] = 1;
}
