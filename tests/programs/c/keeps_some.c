// Holds a megabyte for a while, keeps three blocks of 100 bytes by `leaky` and one of 50 by `cache`, and makes twenty
// temporary ones. With an argument it exits with that code.
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void leaky(void) {
    for (int block = 0; block < 3; block++)
        kept = malloc(100);
}

__attribute__((noinline)) static void cache(void) {
    kept = malloc(50);
}

__attribute__((noinline)) static void temporary(void) {
    for (int block = 0; block < 20; block++)
        free(malloc(64));
}

int main(int count, char **arguments) {
    void *volatile large = malloc(1 << 20);
    leaky();
    cache();
    temporary();
    free(large);
    return count > 1 ? atoi(arguments[1]) : 0;
}
