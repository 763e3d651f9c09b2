/* Maps a piece of its own code so many times, apart from each other, and then loads a library and calls it.

     maps_its_code_often TIMES LIBRARY */
#define _GNU_SOURCE
#include "say.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 3) return 1;
  int file = open("/proc/self/exe", O_RDONLY);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int times = atoi(arguments[1]);
  char *room = mmap(NULL, 2 * page * (size_t)times, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (file < 0 || room == MAP_FAILED) return 2;
  for (int i = 0; i < times; i++) {
    void *at = room + 2 * page * (size_t)i;
    if (mmap(at, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) != at) return 3;
  }
  void *library = dlopen(arguments[2], RTLD_NOW);
  if (library == NULL) return 4;
  void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
  free(lend());
  return 0;
}
