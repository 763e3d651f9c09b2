// What a compiler takes some ten million allocations for, from a hundred thousand different stacks.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N>
struct Deep {
    std::map<std::string, std::variant<int, std::string, std::vector<double>>> values;
    std::regex pattern{"a+b*"};

    int run() {
        std::unordered_map<int, std::function<int(int)>> functions;
        for (int i = 0; i < N; i++) {
            functions[i] = [i](int x) { return x * i; };
            values[std::to_string(i)] = std::string("x");
        }
        std::vector<std::pair<std::string, int>> sorted;
        for (auto& [name, value] : values) {
            auto size = [](auto& one) {
                if constexpr (std::is_same_v<std::decay_t<decltype(one)>, int>) return one;
                else return static_cast<int>(one.size());
            };
            sorted.emplace_back(name, std::visit(size, value));
        }
        std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second + N < b.second; });
        return sorted.size() + std::regex_replace("aab", pattern, "c").size() + Deep<N - 1>{}.run();
    }
};

template <>
struct Deep<0> {
    int run() { return 0; }
};

int main() { std::cout << Deep<20>{}.run(); }
