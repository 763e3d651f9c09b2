// Stacks of every kind, at random: random_stacks TIMES [library to load and unload]
//
// Deep and shallow recursion through functions of many shapes; exceptions and longjmp that leave many frames at once;
// frames of dynamic size and realigned ones; callbacks from libc; lambdas; signals that come by themselves and allocate;
// a library that comes and goes. Link it with an allocator that signal handlers may call.
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <stdexcept>
#include <sys/time.h>

namespace {

std::uint64_t state = 88172645463325252u;
std::uint64_t draw(std::uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 20) % below;
}

long left;
void *volatile block;
std::jmp_buf *landing;
volatile std::sig_atomic_t alarms;

[[gnu::noinline]] void allocate() {
    --left;
    block = std::malloc(32);
    std::free(block);
}

void walk(int depth);

template <int N> [[gnu::noinline]] int plain(int depth) {
    volatile char room[8 + N * 24];
    room[0] = static_cast<char>(depth);
    walk(depth - 1);
    if (N % 3 == 0) allocate();
    return room[0];
}

template <int N> [[gnu::noinline]] int dynamic(int depth) {
    auto *room = static_cast<volatile char *>(__builtin_alloca(16 + 16 * draw(N + 1)));
    room[0] = 1;
    walk(depth - 1);
    return room[0];
}

template <int N> [[gnu::noinline]] int realigned(int depth) {
    alignas(64) volatile char room[64 * (N % 3 + 1)];
    auto *more = static_cast<volatile char *>(__builtin_alloca(16 + 16 * draw(3)));
    room[0] = more[0] = 1;
    walk(depth - 1);
    return room[0];
}

template <int N> [[gnu::noinline]] int busy(int depth) {
    // Every register that must be saved holds something, rbp too.
    std::uint64_t a = draw(9), b = draw(9), c = draw(9), d = draw(9), e = draw(9), f = draw(9);
    for (int i = 0; i <= N % 2; ++i) {
        walk(depth - 1);
        a += b; b ^= c; c += d; d ^= e; e += f; f ^= a;
    }
    return static_cast<int>(a + b + c + d + e + f);
}

[[gnu::noinline]] int throwing(int depth) {
    try {
        walk(depth - 1);
        if (draw(4) == 0) throw std::runtime_error("thrown");
    } catch (const std::runtime_error &) {
        allocate();
    }
    return 0;
}

[[gnu::noinline]] int passing(int depth) {
    walk(depth - 1);
    if (draw(16) == 0) throw std::runtime_error("from far below");
    return 0;
}

[[gnu::noinline]] int jumping(int depth) {
    std::jmp_buf here, *volatile before = landing;
    landing = &here;
    if (setjmp(here) == 0) {
        try {
            walk(depth - 1);
        } catch (...) {
            landing = before;
            throw;
        }
    }
    landing = before;
    allocate();
    return 0;
}

[[gnu::noinline]] int leaving(int depth) {
    walk(depth - 1);
    if (landing && draw(4) == 0) std::longjmp(*landing, 1);
    return 0;
}

int compare(const void *one, const void *other) {
    if (draw(4) == 0) allocate();
    return std::memcmp(one, other, sizeof(int));
}

[[gnu::noinline]] int sorting(int depth) {
    int numbers[4] = {depth, 3, 1, 2};
    std::qsort(numbers, 4, sizeof(int), compare);
    walk(depth - 1);
    return numbers[0];
}

[[gnu::noinline]] int calling(int depth) {
    std::function<void()> call = [depth] { walk(depth - 1); };
    call();
    return 1;
}

[[gnu::noinline]] int raising(int depth) {
    if (draw(8) == 0) std::raise(SIGUSR1);
    walk(depth - 1);
    return 2;
}

using Function = int (*)(int);
constexpr Function functions[] = {plain<0>,     plain<1>,     plain<2>,     plain<3>,  plain<4>,  plain<5>,
                                  plain<6>,     plain<7>,     dynamic<0>,   dynamic<3>, realigned<0>, realigned<1>,
                                  realigned<2>, busy<0>,      busy<1>,      busy<2>,   throwing,  passing,
                                  jumping,      leaving,      sorting,      calling,  raising};

[[gnu::noinline]] void walk(int depth) {
    allocate();
    while (depth > 0 && left > 0 && draw(3) != 0) functions[draw(std::size(functions))](depth);
}

void handler(int signal) {
    if (signal == SIGALRM) alarms = alarms + 1;
    void *volatile mine = std::malloc(16);
    std::free(mine);
}

} // namespace

int main(int argc, char **argv) {
    left = argc > 1 ? std::atol(argv[1]) : 1000;
    std::signal(SIGUSR1, handler);
    std::signal(SIGALRM, handler);
    itimerval interval = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &interval, nullptr);
    while (left > 0) {
        if (argc > 2 && draw(64) == 0) {
            if (void *library = dlopen(argv[2], RTLD_NOW)) {
                if (auto call = reinterpret_cast<void (*)(void (*)(std::size_t), std::size_t)>(dlsym(library, "call_back")))
                    call([](std::size_t) { allocate(); }, 1);
                dlclose(library);
            }
        }
        try {
            walk(40);
        } catch (const std::runtime_error &) {
        }
    }
    interval = {};
    setitimer(ITIMER_REAL, &interval, nullptr);
    std::puts("done");
}
