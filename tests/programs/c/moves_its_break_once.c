// Gets memory from the kernel by moving the end of the heap, once or twice, before and without any call of malloc.
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
    (void)arguments;
    char *memory = sbrk(100 << 20);
    memset(memory, 1, 4096);
    if (count > 1 && brk(memory + (10 << 20)) != 0)
        return 1;
    return 0;
}
