/* An independent witness of stacks: allocates a block of a recognisable size, and prints where glibc's unwinder says
   the call came from, a line for each call of probe():

     probe SIZE MODULE+0xADDRESS MODULE+0xADDRESS …        innermost first, addresses as in the ELF file

   The first address lies in probe itself, behind its call of backtrace() and not of malloc(): only its function is
   that of the recorded stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FRAMES = 4096, LINE = 1 << 20 };

static char line[LINE];
static char executable[4096];

/* backtrace() loads a library at its first call. */
__attribute__((constructor)) static void prepare(void) {
  void *frames[1];
  backtrace(frames, 1);
  if (readlink("/proc/self/exe", executable, sizeof executable - 1) < 0) abort();
}

static size_t append(size_t length, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int count = vsnprintf(line + length, LINE - length, format, arguments);
  va_end(arguments);
  if (count < 0 || (size_t)count >= LINE - length) abort();
  return length + (size_t)count;
}

__attribute__((noinline)) void probe(size_t size) {
  void *block = malloc(size);
  static void *frames[FRAMES];
  int count = backtrace(frames, FRAMES);
  size_t length = append(0, "probe %zu", size);
  for (int i = 0; i < count; i++) {
    Dl_info info;
    struct link_map *map;
    if (dladdr1(frames[i], &info, (void **)&map, RTLD_DL_LINKMAP)) {
      const char *module = map->l_name[0] ? map->l_name : executable;
      length = append(length, " %s+%#zx", module, (size_t)frames[i] - (size_t)map->l_addr);
    } else {
      length = append(length, " ?+%#zx", (size_t)frames[i]);
    }
  }
  line[length++] = '\n';
  /* One call: a probe may interrupt a program that prints. */
  if (write(STDOUT_FILENO, line, length) != (ssize_t)length) abort();
  free(block);
}
