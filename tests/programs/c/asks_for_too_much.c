/* Calls each function that gives memory for more than there is, and prints each call as the recording should have it, with who called:
   what the call has left in errno, or returned, is ours to see. Given "aborts", it ends by a signal right after the first. */
#include "say.h"
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define MUCH (2ul << 40)
#define KEPT 77 /* an errno that nobody else has */

static volatile size_t much = MUCH, most = SIZE_MAX, odd = 3;

static const char *name_of(int error) {
  return error == ENOMEM ? "ENOMEM" : error == EINVAL ? "EINVAL" : error == EAGAIN ? "EAGAIN" : "another";
}

static void failed(const char *call, size_t size, size_t alignment, const char *function) {
  printf("%s %zu %zu %s %s\n", call, size, alignment, name_of(errno), function);
}

#define BY(function, call, size, alignment, ...)                                                             \
  __attribute__((noinline)) static void function(void *block) {                                              \
    (void)block;                                                                                             \
    errno = KEPT;                                                                                            \
    void *volatile none = __VA_ARGS__;                                                                       \
    if (none == NULL || none == MAP_FAILED) failed(call, size, alignment, #function);                        \
  }

BY(by_malloc, "malloc", MUCH, 0, malloc(much))
BY(by_calloc, "calloc", MUCH, 0, calloc(2, much / 2))
BY(by_overflow, "calloc", SIZE_MAX, 0, calloc(most, 16))
BY(by_realloc_of_nothing, "realloc", MUCH, 0, realloc(NULL, much))
BY(by_realloc, "realloc", MUCH, 0, realloc(block, much))
BY(by_reallocarray, "reallocarray", SIZE_MAX, 0, reallocarray(block, most / 2, 16))
BY(by_aligned_alloc, "aligned_alloc", MUCH, 4096, aligned_alloc(4096, much))
BY(by_memalign, "memalign", MUCH, 64, memalign(64, much))
BY(by_valloc, "valloc", MUCH, 4096, valloc(much))
#ifdef __GLIBC__ /* Others have no such function. */
BY(by_pvalloc, "pvalloc", MUCH, 4096, pvalloc(much))
#else
static void by_pvalloc(void *block) { (void)block; }
#endif
BY(by_mmap, "mmap", MUCH, 0, mmap(NULL, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
BY(by_mremap, "mremap", MUCH, 0, mremap(block, 4096, much, MREMAP_MAYMOVE))
BY(by_sbrk, "brk", MUCH, 0, sbrk((intptr_t)much))
BY(by_brk, "brk", MUCH, 0, brk((char *)sbrk(0) + much) == 0 ? block : NULL)

/* These say it by what they return. */
__attribute__((noinline)) static void by_posix_memalign(void) {
  void *none = &none;
  errno = KEPT;
  int error = posix_memalign(&none, 64, much);
  fprintf(stderr, "%s%s left %s in errno\n", __func__, none == &none ? "" : " changed its result and", name_of(errno));
  errno = error;
  failed("posix_memalign", MUCH, 64, __func__);
}

__attribute__((noinline)) static void by_alignment(void) {
  void *none = &none;
  errno = KEPT;
  int error = posix_memalign(&none, odd, 100);
  fprintf(stderr, "%s%s left %s in errno\n", __func__, none == &none ? "" : " changed its result and", name_of(errno));
  errno = error;
  failed("posix_memalign", 100, 3, __func__);
}

int main(int count, char **words) {
  const struct rlimit limit = {1ul << 40, 1ul << 40};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  by_malloc(NULL);
  if (count > 1 && strcmp(words[1], "aborts") == 0) {
    fflush(stdout);
    abort();
  }
  by_calloc(NULL), by_overflow(NULL), by_realloc_of_nothing(NULL);
  char *block = malloc(100);
  strcpy(block, "as it was");
  by_realloc(block), by_reallocarray(block);
  if (strcmp(block, "as it was") != 0) return 3;
  free(block);
  by_posix_memalign(), by_alignment();
  by_aligned_alloc(NULL), by_memalign(NULL), by_valloc(NULL), by_pvalloc(NULL);
  by_mmap(NULL);
  void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  by_mremap(page);
  by_sbrk(NULL), by_brk(NULL);
  /* None of these is for want of memory. */
  brk((void *)4096);
  if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 4;
  if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 0) != MAP_FAILED) return 5;
  free(malloc(0)), free(NULL);
  return 0;
}
