// The same in C++: containers that grow, strings and shared objects that pass between threads.
#include "../c/say.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::map<long, std::shared_ptr<std::string>> shelf;

static void work(long number, long steps) {
  std::vector<std::string> own;
  for (long step = 0; step < steps; step++) {
    own.push_back(std::string(static_cast<size_t>(step % 300), 'x'));
    auto shared = std::make_shared<std::string>(own.back());
    std::lock_guard<std::mutex> guard(lock);
    shelf[(number * 31 + step) % 50] = shared;
    if (step % 7 == 0) shelf.erase(step % 50);
  }
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  std::vector<std::thread> threads;
  for (long i = 0; i < atol(arguments[1]); i++) threads.emplace_back(work, i, atol(arguments[2]));
  for (auto &thread : threads) thread.join();
  shelf.clear();
}
