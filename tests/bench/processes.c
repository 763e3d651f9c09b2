/* Runs a command many times, one after the other, while copies of this program sleep, and prints what the runs took.
 *
 *     processes SLEEPERS RUNS COMMAND [ARGUMENT...]
 *
 *     wall 2310.5                   milliseconds of all runs
 *     cpu 1204.0                    CPU milliseconds of the commands
 *     collector 900.0               CPU milliseconds of the parent, which is the collector in a recording
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { WALL, CPU, COLLECTOR, CLOCKS };

static double milliseconds(struct timeval time) {
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

/* CPU time of all threads of the parent. */
static double of_parent(void) {
    char path[64];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", getppid());
    FILE *stat = fopen(path, "r");
    if (!stat) return 0;
    if (fscanf(stat, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) user = 0;
    fclose(stat);
    return (double)(user + system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

static void read_clocks(double clocks[CLOCKS]) {
    struct timespec wall;
    struct rusage children;
    /* What the collector still has to do for these processes counts. */
    clock_gettime(CLOCK_MONOTONIC, &wall);
    getrusage(RUSAGE_CHILDREN, &children);
    sleep(1);
    clocks[WALL] = (double)wall.tv_sec * 1e3 + (double)wall.tv_nsec / 1e6;
    clocks[CPU] = milliseconds(children.ru_utime) + milliseconds(children.ru_stime);
    clocks[COLLECTOR] = of_parent();
}

static pid_t start(char **command) {
    pid_t pid;
    int error = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);
    if (error) fprintf(stderr, "%s: error %d\n", command[0], error), exit(1);
    return pid;
}

int main(int argc, char **argv) {
    if (argc == 2) {
        /* A sleeper: closes its output once it is there, since its recording has begun by then. */
        free(malloc(10));
        close(1);
        pause();
    }
    if (argc < 4) fprintf(stderr, "usage: %s SLEEPERS RUNS COMMAND...\n", argv[0]), exit(2);
    int sleepers = atoi(argv[1]), runs = atoi(argv[2]);
    pid_t *asleep = calloc((size_t)sleepers + 1, sizeof *asleep);
    for (int i = 0; i < sleepers; i++) {
        int ends[2];
        char byte;
        if (pipe(ends)) perror("pipe"), exit(1);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        char *command[] = {argv[0], "sleep", NULL};
        int error = posix_spawn(&asleep[i], argv[0], &actions, NULL, command, environ);
        if (error) fprintf(stderr, "%s: error %d\n", argv[0], error), exit(1);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (read(ends[0], &byte, 1) != 0) perror("read"), exit(1);
        close(ends[0]);
    }
    double before[CLOCKS], after[CLOCKS];
    read_clocks(before);
    /* The pause in there is not part of the runs. */
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    before[WALL] = (double)began.tv_sec * 1e3 + (double)began.tv_nsec / 1e6;
    for (int i = 0; i < runs; i++) {
        int status;
        waitpid(start(argv + 3), &status, 0);
        if (status) fprintf(stderr, "%s: status %d\n", argv[3], status), exit(1);
    }
    read_clocks(after);
    static const char *const names[CLOCKS] = {"wall", "cpu", "collector"};
    for (int clock = 0; clock < CLOCKS; clock++) printf("%s %.1f\n", names[clock], after[clock] - before[clock]);
    for (int i = 0; i < sleepers; i++) kill(asleep[i], SIGTERM), waitpid(asleep[i], NULL, 0);
}
