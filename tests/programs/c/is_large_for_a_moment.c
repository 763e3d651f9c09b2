// Touches 192 MiB, more than the command itself ever has, and gives them back at once, before it waits or ends.
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int main(int count, char **arguments) {
    (void)arguments;
    size_t size = 192 << 20;
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, size);
    munmap(memory, size);
    if (count > 1)
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, 0);
    return 0;
}
