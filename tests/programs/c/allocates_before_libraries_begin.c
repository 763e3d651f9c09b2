// Allocates from its .preinit_array, which runs before the constructors of all libraries, and frees in main.
#include <stdlib.h>

static void *volatile kept;
static void *volatile block;

static void early(int count, char **arguments, char **environment) {
    (void)count, (void)arguments, (void)environment;
    kept = malloc(2601);
    block = malloc(2602);
    free(block);
}

__attribute__((section(".preinit_array"), used)) static void (*entry)(int, char **, char **) = early;

int main(void) {
    free(kept);
    block = malloc(2603);
    free(block);
    return 0;
}
