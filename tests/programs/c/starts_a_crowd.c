/* Starts 150 processes that wait, runs 40 short ones beside them, and lets the waiting ones go on: each forks a child
 * that executes another short one. They end by _exit, so that their codes are known with musl, too. */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAITING = 150, SHORT = 40 };

extern char **environ;
static char *self;

static void allocate(size_t size, int count) {
    for (int i = 0; i < count; i++) free(malloc(size));
}

static pid_t start(char *role) {
    char *command[] = {self, role, NULL};
    pid_t pid;
    if (posix_spawn(&pid, self, NULL, NULL, command, environ)) exit(77);
    return pid;
}

static void wait_for(pid_t pid, int code) {
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != code) exit(1);
}

/* Its output has a byte for each process that is there; its input ends when all may go on. */
static int be_one_that_waits(void) {
    char byte = 0;
    allocate(801, 3);
    if (write(1, &byte, 1) != 1) return 1;
    if (read(0, &byte, 1) != 0) return 1;
    allocate(802, 2);
    pid_t pid = fork();
    if (pid == 0) {
        execl(self, self, "short", (char *)NULL);
        _exit(1);
    }
    wait_for(pid, 4);
    return 3;
}

int main(int argc, char **argv) {
    self = argv[0];
    if (argc == 3) _exit(be_one_that_waits());
    if (argc == 2 && argv[1][0] == 's') {
        allocate(803, 10);
        _exit(4);
    }
    int there[2], go[2];
    pid_t waiting[WAITING];
    char byte;
    if (pipe(there) || pipe(go)) return 77;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, go[0], 0);
    posix_spawn_file_actions_adddup2(&actions, there[1], 1);
    for (int i = 0; i < 2; i++) {
        posix_spawn_file_actions_addclose(&actions, there[i]);
        posix_spawn_file_actions_addclose(&actions, go[i]);
    }
    char *command[] = {self, "waits", "here", NULL};
    for (int i = 0; i < WAITING; i++)
        if (posix_spawn(&waiting[i], self, &actions, NULL, command, environ)) return 77;
    for (int i = 0; i < WAITING; i++)
        if (read(there[0], &byte, 1) != 1) return 1;
    /* Until nobody looks at them at every moment. */
    usleep(500000);
    for (int i = 0; i < SHORT; i++) wait_for(start("short"), 4);
    close(go[1]);
    for (int i = 0; i < WAITING; i++) wait_for(waiting[i], 3);
    return 0;
}
