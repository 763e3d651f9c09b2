// Allocates 777 bytes, and works for 200 milliseconds, in a function that it has the library of the argument call.
#include "work.h"
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((noinline)) static void called_back(void) {
    free(malloc(777));
    for (long until = cpu_ms() + 200; cpu_ms() < until;)
        for (int turn = 0; turn < 100000; turn++) sink = sink * 31 + 7;
}

int main(int count, char **arguments) {
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!library) return 1;
    void (*pass_on)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "pass_on");
    if (!pass_on) return 1;
    pass_on(called_back);
    return 0;
}
