// A library for PHP: allocates a block in a thread of its own, while the caller waits.

#include <pthread.h>
#include <stdlib.h>

static void *volatile kept;

static void *work(void *size) {
    kept = malloc(*(size_t *)size);
    return NULL;
}

void allocate_in_a_thread(size_t size) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, &size);
    pthread_join(thread, NULL);
}
