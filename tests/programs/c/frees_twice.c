// Frees a block in another thread, and then once more, for which glibc ends it.
#include <pthread.h>
#include <stdlib.h>

static void *volatile shared;

__attribute__((noinline)) static void *make_buffer(size_t size) {
    void *volatile block = malloc(size);
    return block;
}

__attribute__((noinline)) static void *first_owner(void *block) {
    free(block);
    return NULL;
}

__attribute__((noinline)) static void last_owner(void *block) {
    free(block);
    shared = NULL;
}

int main(void) {
    pthread_t thread;
    // Too large for the caches of threads, in which nobody would notice.
    shared = make_buffer(4321);
    pthread_create(&thread, NULL, first_owner, shared);
    pthread_join(thread, NULL);
    last_owner(shared);
    return 0;
}
