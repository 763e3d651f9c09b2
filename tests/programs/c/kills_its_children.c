/* Forks children that allocate once and wait. Each is killed, by SIGTERM or SIGKILL in turn, and reaped at once, when the parent of this
   program, which records it, has a pidfd of it. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_in(const char *path, int child) {
  char line[256];
  int number, found = 0;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) found |= sscanf(line, "Pid: %d", &number) == 1 && number == child;
  if (file) fclose(file);
  return found;
}

/* True when a process has a pidfd of another one. */
static int has_pidfd(int process, int child) {
  char folder[64], path[512];
  struct dirent *entry;
  int found = 0;
  snprintf(folder, sizeof folder, "/proc/%d/fdinfo", process);
  DIR *entries = opendir(folder);
  while (entries && (entry = readdir(entries))) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    found |= is_in(path, child);
  }
  if (entries) closedir(entries);
  return found;
}

int main(void) {
  for (int number = 0; number < 10; number++) {
    pid_t child = fork();
    if (child == 0) {
      void *volatile block = malloc(1000);
      for (;;) pause();
      free(block);
    }
    while (!has_pidfd(getppid(), child)) usleep(1000);
    int wanted = number % 2 ? SIGKILL : SIGTERM, status;
    kill(child, wanted);
    if (waitpid(child, &status, 0) != child || WTERMSIG(status) != wanted) return 1;
  }
  return 0;
}
