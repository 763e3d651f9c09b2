// Prints what is mapped, after it has allocated in two threads.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static void *run(void *argument) {
    for (int i = 0; i < 1000; i++) {
        block = malloc(1000);
        free(block);
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    run(NULL);
    pthread_join(thread, NULL);
    static char text[1 << 16];
    int file = open("/proc/self/smaps", O_RDONLY);
    for (ssize_t got; (got = read(file, text, sizeof text)) > 0;)
        if (write(1, text, got) != got) return 1;
    return 0;
}
