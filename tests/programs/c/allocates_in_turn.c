// Starts threads, one after the other, each of which frees what it allocates.
#include <pthread.h>
#include <stdlib.h>

static void *volatile block;

static void *run(void *argument) {
    for (int i = 0; i < 25; i++) {
        block = malloc(1234);
        block = realloc(block, 2345);
        free(block);
    }
    return argument;
}

int main(void) {
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
