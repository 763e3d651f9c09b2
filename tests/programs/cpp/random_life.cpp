// A life at random, with its own books: random_life SEED STEPS BOOKS LIBRARY...
//
// Threads that start threads, that pass blocks to one another and that fork; all calls of the allocator; signals that
// come by themselves; libraries that come and go; exceptions; pages mapped and unmapped; deep and shallow stacks. Each
// process keeps books of the blocks that it has made, in memory that does not come from the allocator, and appends them
// to the file in the end:
//
//   own PID ADDRESS SIZE      a block that is still there
//   end PID FREES             so many blocks of its parent's were freed
//
// All blocks are made by functions whose names begin with `life_`. Ends with 0 if all went as it should.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
#define LIFE extern "C" __attribute__((noinline))

LIFE void *life_malloc(size_t size) { void *p = malloc(size); KEEP_FRAME(); return p; }
LIFE void *life_calloc(size_t size) { void *p = calloc(1, size); KEEP_FRAME(); return p; }
LIFE void *life_realloc(void *old, size_t size) { void *p = realloc(old, size); KEEP_FRAME(); return p; }
LIFE void *life_reallocarray(void *old, size_t size) { void *p = reallocarray(old, 1, size); KEEP_FRAME(); return p; }
LIFE void *life_memalign(size_t size) { void *p = memalign(64, size); KEEP_FRAME(); return p; }
LIFE void *life_posix_memalign(size_t size) {
  void *p = nullptr;
  if (posix_memalign(&p, 4096, size) != 0) abort();
  return p;
}
LIFE void *life_aligned_alloc(size_t size) { void *p = aligned_alloc(32, size); KEEP_FRAME(); return p; }
LIFE void *life_new(size_t size) { void *p = operator new(size); KEEP_FRAME(); return p; }
LIFE void *life_new_array(size_t size) { void *p = operator new[](size); KEEP_FRAME(); return p; }
LIFE void *life_new_aligned(size_t size) {
  void *p = operator new(size, std::align_val_t(128));
  KEEP_FRAME();
  return p;
}

namespace {

enum How : uint8_t { nothing, by_malloc, by_new, by_new_array, by_new_aligned };

struct Block {
  void *address;
  size_t size;
  How how;
  bool inherited;
};

enum { BLOCKS = 128, THREADS = 48, CELLS = 64, CHILDREN = 3, GENERATIONS = 2 };

struct Life {
  uint64_t random;
  int number;
  int steps;
  Block blocks[BLOCKS];
  pthread_t started[THREADS];
  int count_started;
};

// A block on its way from one thread to another.
struct Cell {
  std::atomic<bool> taken;
  Block block;
};

Life lives[THREADS];
Cell cells[CELLS];
std::atomic<int> threads, running, children;
std::atomic<long> inherited_frees;
std::atomic<long> signals;
// Nobody forks while somebody loads: glibc's loader does not stand it.
pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
int generation, books;
char **libraries;
int library_count;

uint64_t draw(Life &life, uint64_t below) {
  life.random ^= life.random << 13, life.random ^= life.random >> 7, life.random ^= life.random << 17;
  return (life.random >> 20) % below;
}

[[noreturn]] void fail(const char *what) {
  (void)!write(2, what, strlen(what));
  (void)!write(2, "\n", 1);
  _exit(99);
}

// Marks both ends of a block, so that one which is given out twice is noticed.
void mark(const Block &block) {
  auto bytes = static_cast<unsigned char *>(block.address);
  const auto sign = static_cast<unsigned char>(block.size * 31 + 7);
  if (block.size > 0) bytes[0] = bytes[block.size - 1] = sign;
}

void check(const Block &block) {
  auto bytes = static_cast<unsigned char *>(block.address);
  const auto sign = static_cast<unsigned char>(block.size * 31 + 7);
  if (block.size > 0 && (bytes[0] != sign || bytes[block.size - 1] != sign)) fail("a block was overwritten");
}

Block allocate(Life &life) {
  const uint64_t kind = draw(life, 10);
  size_t size = 1 + draw(life, draw(life, 8) == 0 ? 200000 : 500);
  Block block = {nullptr, size, by_malloc, false};
  switch (kind) {
    case 0: block.address = life_calloc(size); break;
    case 1: block.address = life_memalign(size); break;
    case 2: block.address = life_posix_memalign(size); break;
    case 3: block.address = life_aligned_alloc(size); break;
    case 4: block.address = life_new(size), block.how = by_new; break;
    case 5: block.address = life_new_array(size), block.how = by_new_array; break;
    case 6: block.address = life_new_aligned(size), block.how = by_new_aligned; break;
    case 7: block.address = life_realloc(nullptr, size); break;
    default: block.address = life_malloc(size); break;
  }
  if (block.address == nullptr) fail("no memory");
  mark(block);
  return block;
}

void release(Block &block) {
  if (block.how == nothing) return;
  check(block);
  if (block.inherited) inherited_frees++;
  switch (block.how) {
    case by_new: operator delete(block.address); break;
    case by_new_array: operator delete[](block.address, block.size); break;
    case by_new_aligned: operator delete(block.address, std::align_val_t(128)); break;
    default: free(block.address); break;
  }
  block.how = nothing;
}

void resize(Life &life, Block &block) {
  if (block.how != by_malloc) return;
  check(block);
  const size_t size = 1 + draw(life, 2000);
  const bool fails = draw(life, 20) == 0;
  void *address = fails ? life_realloc(block.address, SIZE_MAX / 4)
                        : draw(life, 3) == 0 ? life_reallocarray(block.address, size) : life_realloc(block.address, size);
  if (fails) {
    if (address != nullptr) fail("a block larger than memory");
    check(block);
    return;
  }
  if (address == nullptr) fail("no memory");
  if (block.inherited) inherited_frees++;
  block = {address, size, by_malloc, false};
  mark(block);
}

void exchange(Life &life, Block &block) {
  Cell &cell = cells[draw(life, CELLS)];
  if (cell.taken.exchange(true, std::memory_order_acquire)) return;
  std::swap(cell.block, block);
  cell.taken.store(false, std::memory_order_release);
}

void *run(void *);

void start_thread(Life &life, int steps) {
  if (running >= 6 || steps < 10) return;
  const int number = threads++;
  if (number >= THREADS) return;
  Life &other = lives[number];
  other.random = life.random * 2862933555777941757u + 3037000493u + static_cast<unsigned>(number);
  other.number = number, other.steps = steps;
  running++;
  if (pthread_create(&life.started[life.count_started++], nullptr, run, &other) != 0) fail("no thread");
}

void write_books() {
  static char buffer[1 << 16];
  size_t used = 0;
  auto flush = [&] {
    if (write(books, buffer, used) != static_cast<ssize_t>(used)) fail("the books cannot be written");
    used = 0;
  };
  auto note = [&](const Block &block) {
    if (block.how == nothing || block.inherited) return;
    check(block);
    used += static_cast<size_t>(
        snprintf(buffer + used, 100, "own %d %p %zu\n", getpid(), block.address, block.size));
    if (used > sizeof buffer - 200) flush();
  };
  for (Life &life : lives)
    for (Block &block : life.blocks) note(block);
  for (Cell &cell : cells) note(cell.block);
  used += static_cast<size_t>(snprintf(buffer + used, 100, "end %d %ld\n", getpid(), inherited_frees.load()));
  flush();
}

void join(Life &life) {
  for (int i = 0; i < life.count_started; i++) pthread_join(life.started[i], nullptr);
  life.count_started = 0;
}

void live(Life &life);

// In the child only this thread lives on: what others had, or was on its way, is forgotten.
void begin_child(Life &life) {
  generation++;
  children = 0, running = 1, inherited_frees = 0;
  life.count_started = 0;
  for (Life &other : lives)
    if (&other != &life) memset(&other, 0, sizeof other);
  for (Cell &cell : cells) cell.taken = false, cell.block = {};
  for (Block &block : life.blocks) block.inherited = true;
  threads = life.number + 1;
  life.random += 12345, life.steps /= 4;
}

void start_child(Life &life) {
  if (generation >= GENERATIONS || children++ >= CHILDREN) return;
  pthread_mutex_lock(&loading);
  const pid_t child = fork();
  pthread_mutex_unlock(&loading);
  if (child < 0) fail("no process");
  if (child == 0) {
    begin_child(life);
    live(life);
    join(life);
    write_books();
    _exit(0);
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0) continue;
  if (status != 0) fail("a child failed");
}

void borrow(Life &life, Block &block) {
  if (library_count == 0) return;
  pthread_mutex_lock(&loading);
  void *library = dlopen(libraries[draw(life, static_cast<uint64_t>(library_count))], RTLD_NOW);
  if (library == nullptr) fail("no library");
  auto lend = reinterpret_cast<void *(*)()>(dlsym(library, "lend"));
  auto size = reinterpret_cast<const size_t *>(dlsym(library, "lent_size"));
  release(block);
  block = {lend(), *size, by_malloc, false};
  mark(block);
  if (draw(life, 4) != 0) dlclose(library);
  pthread_mutex_unlock(&loading);
}

void map_pages(Life &life) {
  const size_t length = 4096 * (1 + draw(life, 64));
  void *pages = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail("no pages");
  memset(pages, 1, length);
  munmap(pages, length);
}

void step(Life &life);

__attribute__((noinline)) void deeper(Life &life, int depth) {
  volatile char frame[64];
  frame[0] = static_cast<char>(depth);
  if (depth > 0) deeper(life, depth - 1);
  else step(life);
  frame[1] = frame[0];
}

void throw_and_catch(Life &life) {
  try {
    Block block = allocate(life);
    release(block);
    throw 7;
  } catch (int) {
  }
}

void step(Life &life) {
  Block &block = life.blocks[draw(life, BLOCKS)];
  const uint64_t what = draw(life, 1000);
  if (what < 400) release(block), block = allocate(life);
  else if (what < 600) release(block);
  else if (what < 720) resize(life, block);
  else if (what < 800) exchange(life, block);
  else if (what < 810) start_thread(life, life.steps / 2);
  else if (what < 812) start_child(life);
  else if (what < 820) borrow(life, block);
  else if (what < 840) raise(SIGUSR1);
  else if (what < 850) map_pages(life);
  else if (what < 860) throw_and_catch(life);
  else if (what < 870) free(nullptr), free(malloc(SIZE_MAX / 2));
  else deeper(life, static_cast<int>(draw(life, 100)));
}

void live(Life &life) {
  for (int i = 0; i < life.steps; i++) step(life);
}

void *run(void *place) {
  Life &life = *static_cast<Life *>(place);
  live(life);
  join(life);
  for (Block &block : life.blocks)
    if (draw(life, 2) == 0) release(block);
  running--;
  return nullptr;
}

void on_signal(int) { signals++; }

}  // namespace

int main(int count, char **arguments) {
  if (count < 4) return 1;
  struct sigaction action = {};
  action.sa_handler = on_signal, action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
  itimerval often = {{0, 1000}, {0, 1000}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  books = open(arguments[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (books < 0) return 1;
  libraries = arguments + 4, library_count = count - 4;
  Life &life = lives[0];
  life.random = strtoull(arguments[1], nullptr, 10) * 2654435769u + 88172645463325252u;
  life.steps = atoi(arguments[2]);
  threads = 1, running = 1;
  live(life);
  join(life);
  setitimer(ITIMER_REAL, &never, nullptr);
  write_books();
  return 0;
}
