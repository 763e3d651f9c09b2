// Heavy on templates, so that a compiler has something to do.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

template <std::size_t... Numbers>
long sum(std::index_sequence<Numbers...>) {
  return (static_cast<long>(Numbers) + ...);
}

template <int Depth>
struct Nested {
  using Type = std::tuple<typename Nested<Depth - 1>::Type, std::map<int, std::vector<std::string>>>;
};

template <>
struct Nested<0> {
  using Type = int;
};

int main() {
  Nested<20>::Type nested;
  std::function<bool(const std::string &)> matches = [](const std::string &text) {
    return std::all_of(text.begin(), text.end(), [](char letter) { return letter >= 'a' && letter <= 'z'; });
  };
  if (!matches("templates") || sizeof nested == 0) return 1;
  std::cout << sum(std::make_index_sequence<101>{}) << "\n";
}
