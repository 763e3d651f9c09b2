/* Does nothing on the way to the allocator: what every preloaded library costs. */
#include "forward.h"

void *malloc(size_t size) { return NEXT(malloc)(size); }
void *calloc(size_t count, size_t size) { return NEXT(calloc)(count, size); }
void *realloc(void *block, size_t size) { return NEXT(realloc)(block, size); }
void free(void *block) { NEXT(free)(block); }
