// Forbids itself and all that it starts perf_event_open, as a sandbox does, and executes its arguments.
#include "filter.h"
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count < 2 || refuse(SYS_perf_event_open)) {
        perror("refuses_perf");
        return 99;
    }
    execv(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 99;
}
