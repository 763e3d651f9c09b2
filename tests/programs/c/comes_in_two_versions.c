// Keeps blocks by functions that change from one version to the next: with -DNEWER it keeps more by `grows`, less by
// `shrinks`, as much as before by `stays`, none by `goes` and some by `comes`. `moves` has other lines then, and two calls
// in place of one. It makes three temporary blocks, the newer version eight.
#include <stdlib.h>

#ifdef NEWER
enum { GROWS = 5, SHRINKS = 1, TEMPORARY = 8 };
#line 40
#else
enum { GROWS = 2, SHRINKS = 4, TEMPORARY = 3 };
#endif

static void *volatile kept;

__attribute__((noinline)) void grows(void) {
    for (int block = 0; block < GROWS; block++) kept = malloc(1000);
}

__attribute__((noinline)) void shrinks(void) {
    for (int block = 0; block < SHRINKS; block++) kept = malloc(3000);
}

__attribute__((noinline)) void stays(void) {
    for (int block = 0; block < 3; block++) kept = malloc(700);
}

__attribute__((noinline)) void goes(void) {
    kept = malloc(5000);
}

__attribute__((noinline)) void comes(void) {
    kept = calloc(1, 6000);
}

__attribute__((noinline)) void moves(void) {
    kept = malloc(900);
#ifdef NEWER
    kept = malloc(800);
#endif
}

__attribute__((noinline)) void temporary(void) {
    for (int block = 0; block < TEMPORARY; block++) free(malloc(64));
}

int main(void) {
    grows();
    shrinks();
    stays();
#ifdef NEWER
    comes();
#else
    goes();
#endif
    moves();
    temporary();
    return kept == NULL;
}
