/* So many threads, one after the other: each names itself, keeps a block, and ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void *kept[4096];

static void *run(void *argument)
{
    intptr_t number = (intptr_t)argument;
    char name[16];

    snprintf(name, sizeof name, "worker-%d", (int)number);
    pthread_setname_np(pthread_self(), name);
    kept[number] = malloc(100);
    return NULL;
}

int main(int count, char **arguments)
{
    long threads = count > 1 ? atol(arguments[1]) : 1;

    for (intptr_t number = 0; number < threads && number < 4096; number++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, (void *)number) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
