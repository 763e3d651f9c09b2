// Runs a command and prints what it and all processes that it starts had resident in memory at most, together, in
// KiB: the largest sum of their proportional set sizes, so a page that several have mapped counts once. Looks every
// two milliseconds, and less often where a look takes long.
//
//   resident FILE COMMAND...      appends "memory KIB anonymous KIB files KIB shared KIB" to FILE, a pair a line
#include "stopwatch.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 4 };
static const char *const NAMES[KINDS] = {"memory", "anonymous", "files", "shared"};
static const char *const LINES[KINDS] = {"Pss:", "Pss_Anon:", "Pss_File:", "Pss_Shmem:"};

static void add_process(const char *pid, long sums[KINDS]) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        for (int kind = 0; kind < KINDS; kind++) {
            size_t length = strlen(LINES[kind]);
            if (strncmp(line, LINES[kind], length) == 0) sums[kind] += atol(line + length);
        }
    }
    fclose(file);
}

// Adds what descends from a process. Which thread has started a child does not matter, but the kernel asks for it.
static void add_descendants(const char *pid, long sums[KINDS]) {
    char path[64], child[32];
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *threads = opendir(path);
    if (!threads) return;
    for (struct dirent *thread; (thread = readdir(threads));) {
        if (!isdigit(thread->d_name[0])) continue;
        snprintf(path, sizeof path, "/proc/%s/task/%.20s/children", pid, thread->d_name);
        FILE *children = fopen(path, "r");
        if (!children) continue;
        while (fscanf(children, "%31s", child) == 1) {
            add_process(child, sums);
            add_descendants(child, sums);
        }
        fclose(children);
    }
    closedir(threads);
}

int main(int arguments, char **argument) {
    if (arguments < 3) return fprintf(stderr, "usage: resident FILE COMMAND...\n"), 2;
    // Who is left behind by its parent comes to us.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t child = fork();
    if (child < 0) return perror("fork"), 2;
    if (child == 0) {
        execvp(argument[2], argument + 2);
        perror(argument[2]);
        _exit(127);
    }
    char self[32];
    snprintf(self, sizeof self, "%d", getpid());
    long most[KINDS] = {0};
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        double before = now(CLOCK_MONOTONIC);
        long sums[KINDS] = {0};
        add_descendants(self, sums);
        if (sums[0] > most[0]) memcpy(most, sums, sizeof most);
        double took = now(CLOCK_MONOTONIC) - before, pause = 3 * took > 2e6 ? 3 * took : 2e6;
        nanosleep(&(struct timespec){.tv_nsec = (long)(pause < 5e8 ? pause : 5e8)}, NULL);
    }
    FILE *file = fopen(argument[1], "a");
    if (!file) return perror(argument[1]), 2;
    for (int kind = 0; kind < KINDS; kind++) fprintf(file, "%s %ld\n", NAMES[kind], most[kind]);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
