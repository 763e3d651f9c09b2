/* Makes functions while it runs that call malloc by a pointer, and tells of them as compilers at run time do: one in the
   perf map after it has run, one not at all. With an argument it tells by a log in the jitdump format, with lines. */
#define _GNU_SOURCE
#include "made_code.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void tell_in_map(maker function, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "a");
    fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)function, sizeof CODE, name);
    fclose(map);
}

static void put(int file, const void *bytes, size_t length) {
    if (write(file, bytes, length) != (ssize_t)length) abort();
}

/* A log of one function with one line, mapped once as the sign to profilers. */
static void tell_in_log(const char *folder, maker function, const char *name, const char *source, uint32_t line) {
    char path[256];
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, getpid());
    int file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
    uint64_t address = (uintptr_t)function;
    uint32_t header[10] = {0x4A695444, 1, 40, 62, 0, (uint32_t)getpid()};
    put(file, header, sizeof header);
    uint32_t begin[2] = {2, (uint32_t)(16 + 16 + 16 + strlen(source) + 1)};
    uint64_t lines[3] = {1, address, 1};
    uint32_t place[2] = {line, 0};
    put(file, begin, sizeof begin);
    put(file, lines, sizeof lines);
    put(file, &address, sizeof address);
    put(file, place, sizeof place);
    put(file, source, strlen(source) + 1);
    uint32_t load[2] = {0, (uint32_t)(16 + 40 + strlen(name) + 1 + sizeof CODE)};
    uint64_t body[6] = {2, 0, address, address, sizeof CODE, 1};
    put(file, load, sizeof load);
    put(file, body, sizeof body);
    put(file, name, strlen(name) + 1);
    put(file, CODE, sizeof CODE);
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) abort();
    close(file);
}

int main(int count, char **arguments) {
    unsigned char *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    maker told = make(memory), untold = make(memory + 64);
    if (count > 1) {
        tell_in_log(arguments[1], told, "logged", "/srv/source.py", 42);
        free(told(3001));
    } else {
        free(told(3001));
        free(untold(3002));
        tell_in_map(told, "JS:*add /srv/app.js:12:5");
    }
    return 0;
}
