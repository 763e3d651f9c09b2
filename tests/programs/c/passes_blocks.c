// Allocates a hundred blocks of 40 bytes in `make`, which another thread frees in `take`.
#include <pthread.h>
#include <stdlib.h>

#define BLOCKS 100

static void *volatile blocks[BLOCKS];

__attribute__((noinline)) static void make(void) {
    for (int block = 0; block < BLOCKS; block++)
        blocks[block] = malloc(40);
}

static void *take(void *unused) {
    for (int block = 0; block < BLOCKS; block++)
        free(blocks[block]);
    return unused;
}

int main(void) {
    pthread_t thread;
    make();
    if (pthread_create(&thread, NULL, take, NULL) != 0)
        return 1;
    return pthread_join(thread, NULL);
}
