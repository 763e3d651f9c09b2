/* Counts calls of the allocator, independently of the product: preloaded, forwards to the next library.

   The counts lie in a file named by COUNTING_PRELOAD_FILE that is mapped shared, so they are complete however a
   process ends, and are sums over all processes that were started with the variable, but for programs of the name in
   COUNTING_PRELOAD_SKIP:

     u64 allocations, frees, bytes

   What counts: every call that returned a block, with the size it asked for; every block given back; a realloc of a
   block is both. Calls that fail and free(NULL) count nowhere. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
  uint64_t allocations, frees, bytes;
};

/* Until the environment can be read, at the library's construction. */
static struct counts early;
static struct counts *counts = &early;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_reallocarray)(void *, size_t, size_t);
static void (*next_free)(void *);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);

/* Depth of calls of this thread inside the next library, which may call us itself. */
static __thread int inside;

static void resolve(void) {
  if (next_pvalloc != NULL) return;
  next_malloc = dlsym(RTLD_NEXT, "malloc");
  next_calloc = dlsym(RTLD_NEXT, "calloc");
  next_realloc = dlsym(RTLD_NEXT, "realloc");
  next_reallocarray = dlsym(RTLD_NEXT, "reallocarray");
  next_free = dlsym(RTLD_NEXT, "free");
  next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
  next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
  next_memalign = dlsym(RTLD_NEXT, "memalign");
  next_valloc = dlsym(RTLD_NEXT, "valloc");
  next_pvalloc = dlsym(RTLD_NEXT, "pvalloc");
}

static void add(uint64_t *sum, uint64_t count) { __atomic_fetch_add(sum, count, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void map_counts(void) {
  int saved = errno;
  const char *name = getenv("COUNTING_PRELOAD_FILE");
  const char *skip = getenv("COUNTING_PRELOAD_SKIP");
  int is_skipped = skip != NULL && strcmp(skip, program_invocation_short_name) == 0;
  int file = name == NULL || is_skipped ? -1 : open(name, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    struct counts *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) {
      add(&shared->allocations, early.allocations);
      add(&shared->frees, early.frees);
      add(&shared->bytes, early.bytes);
      counts = shared;
    }
    close(file);
  }
  errno = saved;
}

static void *allocated(void *block, size_t size) {
  if (block != NULL && inside == 0) {
    add(&counts->allocations, 1);
    add(&counts->bytes, size);
  }
  return block;
}

#define NEXT(call) ({ resolve(); inside++; __auto_type result = (call); inside--; result; })

void *malloc(size_t size) { return allocated(NEXT(next_malloc(size)), size); }

void *calloc(size_t count, size_t size) { return allocated(NEXT(next_calloc(count, size)), count * size); }

static void *reallocated(void *old, void *block, size_t size) {
  if (inside == 0 && old != NULL && (block != NULL || size == 0)) add(&counts->frees, 1);
  return allocated(block, size);
}

void *realloc(void *old, size_t size) { return reallocated(old, NEXT(next_realloc(old, size)), size); }

void *reallocarray(void *old, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return reallocated(old, NEXT(next_reallocarray(old, count, size)), bytes);
}

void free(void *block) {
  resolve();
  if (block != NULL && inside == 0) add(&counts->frees, 1);
  inside++;
  next_free(block);
  inside--;
}

void cfree(void *block) { free(block); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  int error = NEXT(next_posix_memalign(place, alignment, size));
  if (error == 0) allocated(*place, size);
  return error;
}

void *aligned_alloc(size_t alignment, size_t size) { return allocated(NEXT(next_aligned_alloc(alignment, size)), size); }

void *memalign(size_t alignment, size_t size) { return allocated(NEXT(next_memalign(alignment, size)), size); }

void *valloc(size_t size) { return allocated(NEXT(next_valloc(size)), size); }

void *pvalloc(size_t size) { return allocated(NEXT(next_pvalloc(size)), size); }
