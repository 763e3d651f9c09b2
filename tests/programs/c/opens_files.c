// Opens and reads devices, so many times from each of two functions, and allocates a block beside.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char room[4096];

__attribute__((noinline)) static void often(void) {
    for (int i = 0; i < 30; i++) {
        int zero = open("/dev/zero", O_RDONLY);
        if (zero < 0 || read(zero, room, 100) != 100) exit(2);
        close(zero);
    }
}

__attribute__((noinline)) static void seldom(void) {
    for (int i = 0; i < 10; i++) {
        int zero = open("/dev/zero", O_RDONLY);
        if (zero < 0 || read(zero, room, 1000) != 1000) exit(2);
        close(zero);
    }
}

int main(void) {
    char *volatile block = malloc(123456);
    often();
    seldom();
    free(block);
    return 0;
}
