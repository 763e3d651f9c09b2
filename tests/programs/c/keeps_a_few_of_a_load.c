/* Frees what a load has allocated, but not each hundredth block, so most pages between have none; then asks the allocator for them, and
   prints how many kibibytes of anonymous memory that gave back. It ends by `_exit`, so that nothing changes after that.

     keeps_a_few_of_a_load main|thread */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 20000, EACH = 100, SIZE = 1000 };
static void *blocks[BLOCKS];

__attribute__((noinline)) static void *keep(void) { return memset(malloc(SIZE), 1, SIZE); }
__attribute__((noinline)) static void *load(void) { return memset(malloc(SIZE), 1, SIZE); }

static void *work(void *unused) {
  (void)unused;
  for (int i = 0; i < BLOCKS; i++) blocks[i] = i % EACH < EACH - 1 ? load() : keep();
  for (int i = 0; i < BLOCKS; i++)
    if (i % EACH < EACH - 1) free(blocks[i]);
  return NULL;
}

/* What the kernel counts. */
static long anonymous_kibibytes(void) {
  static char text[1 << 14];
  FILE *status = fopen("/proc/self/status", "r");
  if (!status) exit(77);
  size_t length = fread(text, 1, sizeof text - 1, status);
  fclose(status);
  text[length] = 0;
  char *line = strstr(text, "RssAnon:");
  return line ? atol(line + strlen("RssAnon:")) : 0;
}

int main(int count, char **words) {
  if (count > 1 && !strcmp(words[1], "thread")) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) return 1;
    pthread_join(thread, NULL);
  } else {
    work(NULL);
  }
  long before = anonymous_kibibytes();
  malloc_trim(0);
  printf("%ld\n", before - anonymous_kibibytes());
  fflush(stdout);
  _exit(0);
}
