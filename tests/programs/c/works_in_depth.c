// Works at the bottom of a recursion, as deep as the first argument says and for as many milliseconds as the second says.
#include "work.h"
#include <stdlib.h>

static __attribute__((noinline)) int down(int depth, long milliseconds) {
    if (depth == 0) {
        work(milliseconds);
        return 0;
    }
    // Added after the call, so that each level keeps a frame.
    return down(depth - 1, milliseconds) + (int)(sink & 1);
}

int main(int count, char **arguments) { return count == 3 ? down(atoi(arguments[1]), atol(arguments[2])) & 0 : 1; }
