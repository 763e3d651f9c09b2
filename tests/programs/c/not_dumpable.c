// Does not let its user look at it, and waits until it is killed.
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
    if (prctl(PR_SET_DUMPABLE, 0) != 0) return 1;
    prctl(PR_SET_NAME, "is_secret");
    for (;;) pause();
}
