// Makes so many blocks of some sizes by each form of operator new, and deletes them; with the argument `fails` it has
// operator new fail, without a handler and with one that gives room. Asks its allocator, by functions that only this one
// has, whether blocks are its own. Prints that, what threw, and how often the handler was called.
#include "../c/say.h"
#include <dlfcn.h>
#include <new>

enum { TIMES = 100 };

struct alignas(64) Aligned {
  char bytes[3200];
};

static void *reserve;
static int handled;

static void give_room() {
  handled++;
  free(malloc(3105));
  if (reserve == nullptr) throw std::bad_alloc();
  operator delete(reserve);
  reserve = nullptr;
}

static bool fails(size_t size) {
  try {
    operator delete(operator new(size));
    return false;
  } catch (const std::bad_alloc &) {
    return true;
  }
}

// Bytes that the thread has allocated, as the allocator counts them.
static unsigned long long allocated() {
  using Control = int (*)(const char *, void *, size_t *, void *, size_t);
  if (auto control = reinterpret_cast<Control>(dlsym(RTLD_DEFAULT, "mallctl"))) {
    unsigned long long bytes = 0;
    size_t length = sizeof bytes;
    return control("thread.allocated", &bytes, &length, nullptr, 0) == 0 ? bytes : 0;
  }
  return 0;
}

// True when the allocator says of a block that it is its own.
static bool is_own(const void *block) {
  using Is = bool (*)(const void *);
  if (auto is = reinterpret_cast<Is>(dlsym(RTLD_DEFAULT, "mi_is_in_heap_region"))) return is(block);
  using Owns = int (*)(const void *);
  if (auto owns = reinterpret_cast<Owns>(dlsym(RTLD_DEFAULT, "MallocExtension_GetOwnership"))) return owns(block) == 1;
  return false;
}

int main(int count, char **arguments) {
  const auto align = std::align_val_t(128);
  const unsigned long long before = allocated();
  bool own = true;
  for (int i = 0; i < TIMES; i++) {
    void *block = operator new(3101);
    own = own && is_own(block);
    operator delete(block);
    operator delete[](operator new[](3102));
    operator delete(operator new(3103, std::nothrow), std::nothrow);
    operator delete(operator new(3104, align), size_t(3104), align);
    delete new Aligned;
    free(realloc(malloc(3106), 3107));
  }
  own = own || allocated() >= before + TIMES * (3101ull + 3102 + 3103 + 3104 + 3200 + 3106 + 3107);
  volatile size_t huge = SIZE_MAX / 4;
  bool threw = false, threw_again = false;
  if (count > 1 && strcmp(arguments[1], "fails") == 0) {
    threw = fails(huge);
    reserve = operator new(3108);
    std::set_new_handler(give_room);
    threw_again = fails(huge);
    std::set_new_handler(nullptr);
  }
  operator delete(operator new(3109));
  printf("%d %d %d %d\n", own, threw, threw_again, handled);
}
