/* See backtrace_probe.c. Sizes are chosen by the caller, each for one place only. */
#ifndef PROBE_H
#define PROBE_H
#include <stddef.h>
void probe(size_t size);

/* Behind a call, keeps it from becoming a jump. */
#define STAY() __asm__ volatile("")
#endif
