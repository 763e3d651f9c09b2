// An allocator that keeps an object for each thread, and a list: libc calls its calloc for the object's destructor, and
// the list calls its malloc, all in the middle of a call; both are freed when nobody allocates.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <vector>

static std::atomic<size_t> used;

static void *bump(size_t size, size_t alignment) {
    static char *pool = (char *)mmap(nullptr, 1 << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size = (size + 31) & ~(size_t)15;
    size_t at = used.fetch_add(size + alignment);
    at = (at + alignment + 15) & ~(alignment - 1);
    ((size_t *)(pool + at))[-1] = size;
    return pool + at;
}

struct Cache {
    long count;
    Cache() : count(1) {}
    ~Cache() { count = -1; }
};

static thread_local bool busy;
static thread_local Cache cache;
static std::vector<void *> list;

extern "C" void *malloc(size_t size) {
    void *block = bump(size, 16);
    if (!busy) {
        busy = true;
        cache.count++;
        list.push_back(block);
        busy = false;
    }
    return block;
}

extern "C" void free(void *) {}

extern "C" void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }

extern "C" void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    size_t before = old ? ((size_t *)old)[-1] - 16 : 0;
    return memcpy(block, old ? old : block, before < size ? before : size);
}

extern "C" void *memalign(size_t alignment, size_t size) { return bump(size, alignment); }
extern "C" void *aligned_alloc(size_t alignment, size_t size) { return bump(size, alignment); }
extern "C" int posix_memalign(void **place, size_t alignment, size_t size) {
    *place = bump(size, alignment);
    return 0;
}
