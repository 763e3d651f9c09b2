/* Functions that are made at run time and call malloc by a pointer. */
#ifndef MADE_CODE_H
#define MADE_CODE_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* push rbp; mov rbp, rsp; mov rax, <function>; call rax; pop rbp; ret */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};

typedef void *(*maker)(size_t);

static maker make(unsigned char *place) {
    void *(*function)(size_t) = malloc;
    memcpy(place, CODE, sizeof CODE);
    memcpy(place + 6, &function, sizeof function);
    return (maker)(uintptr_t)place;
}
#endif
