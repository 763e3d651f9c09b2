/* Starts a program in every way there is, each time with another argument: by fork and exec, vfork and exec, spawning
   (with an environment that is empty, and one of its own), system and popen. Allocates afterwards, as before. */
#include "say.h"
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void end(pid_t child, const char *what) {
  int status;
  if (child <= 0 || waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "%s: %d\n", what, status);
    exit(1);
  }
  free(malloc(900));
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  char *path = arguments[1], command[4200], *nothing[] = {NULL}, *own[] = {"OWN=1", NULL};

  pid_t child = fork();
  if (child == 0) execl(path, path, "fork", NULL), _exit(1);
  end(child, "fork");

  child = vfork();
  if (child == 0) execl(path, path, "vfork", NULL), _exit(1);
  end(child, "vfork");

  child = vfork();
  if (child == 0) execl("/nonexistent", "nonexistent", NULL), _exit(0);
  end(child, "vfork without exec");

  char *spawn[] = {path, "spawn", NULL};
  if (posix_spawn(&child, path, NULL, NULL, spawn, environ) != 0) return 1;
  end(child, "spawn");
  char *spawn_empty[] = {path, "spawn-empty", NULL};
  if (posix_spawn(&child, path, NULL, NULL, spawn_empty, nothing) != 0) return 1;
  end(child, "spawn-empty");
  char *spawn_own[] = {path, "spawn-own", NULL};
  if (posix_spawnp(&child, path, NULL, NULL, spawn_own, own) != 0) return 1;
  end(child, "spawn-own");

  child = fork();
  char *exec_empty[] = {path, "exec-empty", NULL};
  if (child == 0) execve(path, exec_empty, nothing), _exit(1);
  end(child, "exec-empty");

  snprintf(command, sizeof command, "exec %s system", path);
  if (system(command) != 0) return 1;
  snprintf(command, sizeof command, "exec %s popen", path);
  FILE *pipe = popen(command, "r");
  if (pipe == NULL || pclose(pipe) != 0) return 1;
  return 0;
}
