/* A library that allocates a block, and frees one. */
#include <stdlib.h>

void *lend(void) { return malloc(2801); }

void take_back(void *block) { free(block); }
