/* Is killed by itself before it has allocated anything. */
#include <signal.h>
#include <unistd.h>

int main(void) { return kill(getpid(), SIGKILL); }
