// An allocator that brings operator new and delete of its own, which do not go through malloc. With DELETE_CALLS_FREE its
// delete calls free, through the linkage table as jemalloc's does; with NEW_CALLS_POSIX_MEMALIGN its aligned forms of new call that;
// with NEW_MAPS its simplest form takes two pages from the kernel each time.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *block) { __libc_free(block); }
}

#ifdef DELETE_CALLS_FREE
#define give_back free
#else
#define give_back __libc_free
#endif

static void *take(size_t size, std::align_val_t alignment) {
#ifdef NEW_CALLS_POSIX_MEMALIGN
  void *block = nullptr;
  return posix_memalign(&block, static_cast<size_t>(alignment), size) ? nullptr : block;
#endif
  return __libc_memalign(static_cast<size_t>(alignment), size);
}

static void *or_throw(void *block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void *operator new(size_t size) {
#ifdef NEW_MAPS
  mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
  return or_throw(__libc_malloc(size));
}
void *operator new[](size_t size) { return or_throw(__libc_malloc(size)); }
void *operator new(size_t size, const std::nothrow_t &) noexcept { return __libc_malloc(size); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { return __libc_malloc(size); }
void *operator new(size_t size, std::align_val_t align) { return or_throw(take(size, align)); }
void *operator new[](size_t size, std::align_val_t align) { return or_throw(take(size, align)); }
void *operator new(size_t size, std::align_val_t align, const std::nothrow_t &) noexcept { return take(size, align); }
void *operator new[](size_t size, std::align_val_t align, const std::nothrow_t &) noexcept { return take(size, align); }

void operator delete(void *block) noexcept { give_back(block); }
void operator delete[](void *block) noexcept { give_back(block); }
void operator delete(void *block, size_t) noexcept { give_back(block); }
void operator delete[](void *block, size_t) noexcept { give_back(block); }
void operator delete(void *block, const std::nothrow_t &) noexcept { give_back(block); }
void operator delete[](void *block, const std::nothrow_t &) noexcept { give_back(block); }
void operator delete(void *block, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void *block, std::align_val_t) noexcept { give_back(block); }
void operator delete(void *block, size_t, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void *block, size_t, std::align_val_t) noexcept { give_back(block); }
void operator delete(void *block, std::align_val_t, const std::nothrow_t &) noexcept { give_back(block); }
void operator delete[](void *block, std::align_val_t, const std::nothrow_t &) noexcept { give_back(block); }
