// Opens a library that binds past everybody else (RTLD_DEEPBIND), has it work if it can, and allocates a block.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *volatile block;

int main(int count, char **arguments) {
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
    if (library == NULL) return 2;
    void (*work)(void) = (void (*)(void))dlsym(library, "work");
    if (work != NULL) work();
    block = malloc(2803);
    free(block);
    return 0;
}
