/* A program without a C++ library that calls whatever forms of operator new and delete it finds, and prints each as the recording
   should have it, and when a block is not aligned as it was asked for. Finds none without the agent. */
#include "say.h"
#include <dlfcn.h>

typedef void *New(size_t, size_t), Delete(void *, size_t, size_t);

static void call(const char *name, const char *new_form, const char *delete_form, size_t size, size_t alignment) {
  New *allocate = (New *)dlsym(RTLD_DEFAULT, new_form);
  Delete *release = (Delete *)dlsym(RTLD_DEFAULT, delete_form);
  if (allocate == NULL || release == NULL) exit(2);
  void *block = allocate(size, alignment);
  printf("alloc %s %p %zu %zu\n", name, block, size, alignment);
  if (alignment != 0 && (uintptr_t)block % alignment != 0) printf("%p is not aligned\n", block);
  printf("free %p\n", block);
  release(block, size, alignment);
}

int main(void) {
  call("operator new", "_Znwm", "_ZdlPv", 10, 0);
  call("operator new[]", "_Znam", "_ZdaPvm", 20, 0);
  for (size_t alignment = 64; alignment <= 1 << 16; alignment *= 4) {
    call("operator new (aligned)", "_ZnwmSt11align_val_t", "_ZdlPvSt11align_val_t", 24, alignment);
    call("operator new[] (aligned)", "_ZnamSt11align_val_t", "_ZdaPvmSt11align_val_t", 40, alignment);
  }
  return 0;
}
