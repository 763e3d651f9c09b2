// Calls every replaceable form of operator new and delete, and prints each as the recording should have it.
#include "../c/say.h"
#include <new>
#include <vector>

static void *made(const char *call, void *block, size_t size, size_t alignment) {
  if (block == nullptr) exit(1);
  printf("alloc %s %p %zu %zu\n", call, block, size, alignment);
  return block;
}

static void *freeing(void *block) {
  printf("free %p\n", block);
  return block;
}

struct alignas(64) Aligned {
  char bytes[192];
};

int main() {
  const std::nothrow_t &quietly = std::nothrow;
  const auto align = std::align_val_t(128);
  const char *one = "operator new", *many = "operator new[]";
  const char *one_aligned = "operator new (aligned)", *many_aligned = "operator new[] (aligned)";

  // What counts nowhere: failures, and nothing to delete. (The exception is an allocation of the library's own.)
  volatile size_t huge = SIZE_MAX / 2;
  try {
    operator delete(operator new(huge));
    return 1;
  } catch (const std::bad_alloc &) {
  }
  if (operator new(huge, quietly) != nullptr || operator new[](huge, quietly) != nullptr) return 1;
  operator delete(nullptr);

  operator delete(freeing(made(one, operator new(10), 10, 0)));
  operator delete(freeing(made(one, operator new(20), 20, 0)), size_t(20));
  operator delete(freeing(made(one, operator new(30, quietly), 30, 0)), quietly);
  operator delete[](freeing(made(many, operator new[](40), 40, 0)));
  operator delete[](freeing(made(many, operator new[](50), 50, 0)), size_t(50));
  operator delete[](freeing(made(many, operator new[](60, quietly), 60, 0)), quietly);

  operator delete(freeing(made(one_aligned, operator new(128, align), 128, 128)), align);
  operator delete(freeing(made(one_aligned, operator new(256, align), 256, 128)), size_t(256), align);
  operator delete(freeing(made(one_aligned, operator new(384, align, quietly), 384, 128)), align, quietly);
  operator delete[](freeing(made(many_aligned, operator new[](512, align), 512, 128)), align);
  operator delete[](freeing(made(many_aligned, operator new[](640, align), 640, 128)), size_t(640), align);
  operator delete[](freeing(made(many_aligned, operator new[](768, align, quietly), 768, 128)), align, quietly);

  // As programs write them.
  int *number = new int(7);
  made(one, number, sizeof *number, 0);
  freeing(number);
  delete number;
  char *text = new char[77];
  made(many, text, 77, 0);
  freeing(text);
  delete[] text;
  auto *aligned = new Aligned;
  made(one_aligned, aligned, sizeof *aligned, 64);
  freeing(aligned);
  delete aligned;
  {
    std::vector<long> numbers(100);
    made(one, numbers.data(), 800, 0);
    freeing(numbers.data());
  }
}
