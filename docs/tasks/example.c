/* The program of the pages beside it: it answers requests, remembers some, and fills a cache in between. Others: -DCACHE=2 with a cache
   that is twice as large, to be compared; -DTWICE frees it twice; -DTOO_MUCH asks for more than there is. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CACHE
#define CACHE 1
#endif

enum { REQUESTS = 1000, ENTRIES = 100 };

static char *history[REQUESTS];
static char *cache[ENTRIES];
static volatile sig_atomic_t is_over;
static volatile char answered;

/* Keeps what was asked: nobody ever frees it. */
static void remember(int request) {
  history[request] = malloc(128);
  snprintf(history[request], 128, "request %d", request);
}

/* A buffer that is needed for a moment. */
static void answer(int request) {
  char *text = malloc(4096);
  memset(text, request, 4096);
  answered = text[request];
  free(text);
  if (request % 10 == 0)
    remember(request);
}

static void fill_cache(void) {
  for (int i = 0; i < ENTRIES; i++) {
    cache[i] = malloc(10000 * CACHE);
    memset(cache[i], i, 10000 * CACHE);
  }
}

static void drop_cache(void) {
  for (int i = 0; i < ENTRIES; i++)
    free(cache[i]);
}

#ifdef TOO_MUCH
static void make_table(size_t bytes) {
  void *volatile table = malloc(bytes);
  if (table == NULL) {
    fprintf(stderr, "out of memory\n");
    abort();
  }
  free(table);
}
#endif

static void end(int signal) {
  (void)signal;
  is_over = 1;
}

int main(int count, char **words) {
  if (count > 1 && !strcmp(words[1], "serve")) {
    signal(SIGTERM, end);
    for (int request = 0; !is_over; request++) {
      answer(request % REQUESTS);
      if (request % 100 == 0)
        usleep(1000);
    }
    return 0;
  }
  for (int request = 0; request < REQUESTS; request++) {
    answer(request);
    if (request == REQUESTS / 2)
      fill_cache();
  }
#ifdef TOO_MUCH
  make_table(1ul << 47);
#endif
  drop_cache();
#ifdef TWICE
  drop_cache();
#endif
  /* The place is all that is forgotten, so the blocks are lost. */
  memset(history, 0, sizeof history);
  return 0;
}
