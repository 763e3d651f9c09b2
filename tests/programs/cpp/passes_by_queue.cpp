// Four threads each put strings into queues of others, under a std::mutex, and destroy what they find in their own:
// passes_by_queue STRINGS.
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Queue {
    std::mutex lock;
    std::deque<std::unique_ptr<std::string>> strings;
};

static Queue queues[4];

static std::unique_ptr<std::string> take(Queue &queue) {
    std::lock_guard<std::mutex> guard(queue.lock);
    if (queue.strings.empty())
        return nullptr;
    auto first = std::move(queue.strings.front());
    queue.strings.pop_front();
    return first;
}

static void work(unsigned number, int count) {
    for (int step = 0; step < count; step++) {
        auto string = std::make_unique<std::string>(20 + step % 100, 'x');
        Queue &other = queues[(number + 1 + step % 3) % 4];
        {
            std::lock_guard<std::mutex> guard(other.lock);
            other.strings.push_back(std::move(string));
        }
        take(queues[number]);
    }
}

int main(int, char **arguments) {
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 4; number++)
        threads.emplace_back(work, number, std::atoi(arguments[1]));
    for (auto &thread : threads)
        thread.join();
}
