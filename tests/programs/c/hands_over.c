// Makes a hundred messages of 64 bytes: of ten each, seven are consumed by another thread, two are refused, one is forgotten. A list of
// 100 bytes grows to 1000, and goes at the end.
#include <pthread.h>
#include <stdlib.h>

#define MESSAGES 100

static void *volatile messages[MESSAGES];
static void *volatile list;

__attribute__((noinline)) static void make_message(int number) {
    messages[number] = malloc(64);
}

__attribute__((noinline)) static void refuse(int number) {
    free(messages[number]);
    messages[number] = NULL;
}

__attribute__((noinline)) static void make_list(void) {
    list = malloc(100);
}

__attribute__((noinline)) static void grow_list(void) {
    list = realloc(list, 1000);
}

static void *consume(void *unused) {
    for (int number = 0; number < MESSAGES; number++)
        if (number % 10 < 7)
            free(messages[number]);
    return unused;
}

int main(void) {
    pthread_t thread;
    make_list();
    for (int number = 0; number < MESSAGES; number++) {
        make_message(number);
        if (number % 10 == 7 || number % 10 == 8)
            refuse(number);
    }
    grow_list();
    if (pthread_create(&thread, NULL, consume, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    free(list);
    return 0;
}
