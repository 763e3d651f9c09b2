/* One host of many: holds as many KiB in each of its functions as it is told.

     holds_as_told SESSIONS CACHE FORGOTTEN */
#include <stdlib.h>
#include <string.h>

struct block {
  struct block *next;
  char rest[1024 - sizeof(struct block *)];
};
static struct block *held;

static void keep(struct block *block) {
  memset(block->rest, 1, sizeof block->rest);
  block->next = held;
  held = block;
}

__attribute__((noinline)) static void open_sessions(int kib) {
  while (kib-- > 0) keep(malloc(sizeof(struct block)));
}

__attribute__((noinline)) static void fill_cache(int kib) {
  while (kib-- > 0) keep(malloc(sizeof(struct block)));
}

__attribute__((noinline)) static void forget(int kib) {
  while (kib-- > 0) keep(malloc(sizeof(struct block)));
}

int main(int count, char **words) {
  if (count < 4) return 1;
  open_sessions(atoi(words[1]));
  fill_cache(atoi(words[2]));
  forget(atoi(words[3]));
  return 0;
}
