/* A server with a way of its own, as real ones have: it allocates and frees, with a rest after each lap, until it is told to
   stop, and counts its calls in a page. One that nobody stops ends after two minutes.

     serves_in_its_way PAGE WAY

   execs    becomes itself again after every few laps
   workers  forks workers that do a few laps each, and replaces those that have ended
   closes   closes every descriptor that it has not opened, in each lap
   daemon   goes into the background by two forks, with a session of its own, no descriptor, and an empty root if it may
   drops    becomes nobody
   full     has as many descriptors as it may
   few      may have as many descriptors as it has, which are three
   narrow   may have little more memory than it has
   locked   has all its memory locked, and what comes
   sleeps   neither allocates nor frees */
#include "page.h"
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { LAP = 200, REST_US = 1000, LIFE = 120, WORKERS = 4, SHORT = 2 };

static void lap(size_t size) {
  for (int i = 0; i < LAP; i++) {
    void *block = malloc(size);
    __asm__ volatile("" ::"r"(block) : "memory");
    free(block);
  }
  __atomic_fetch_add(&page->threads[0].mallocs_done, LAP, __ATOMIC_SEQ_CST);
  usleep(REST_US);
}

static void laps(int count) {
  for (int i = 0; i < count && !get(&page->stop); i++) lap(1501);
}

static int serve_by_workers(void) {
  pid_t workers[WORKERS] = {0};
  while (!get(&page->stop)) {
    for (int i = 0; i < WORKERS; i++) {
      if (workers[i] > 0 && waitpid(workers[i], NULL, WNOHANG) == 0) continue;
      void *of_master = malloc(1502);
      workers[i] = fork();
      if (workers[i] == 0) {
        free(of_master);
        laps(SHORT);
        _exit(0);
      }
      free(of_master);
    }
    usleep(REST_US);
  }
  while (wait(NULL) > 0) {}
  return 5;
}

static int become_a_daemon(void) {
  if (fork() != 0) _exit(5);
  setsid();
  if (fork() != 0) _exit(0);
  umask(0);
  closefrom(0);
  alarm(LIFE);
  mkdir("root", 0700);
  if (chroot("root") != 0 && errno != EPERM) return 2;
  if (chdir("/") != 0) return 2;
  set(&page->pid, (uint64_t)getpid());
  return 0;
}

static int limit(int resource, rlim_t most) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  limit.rlim_cur = most;
  return setrlimit(resource, &limit);
}

static int limit_memory(void) {
  FILE *statm = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) return 2;
  fclose(statm);
  return limit(RLIMIT_AS, pages * 4096 + (4 << 20));
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  const char *way = arguments[2];
  alarm(LIFE);
  map_page(arguments[1]);
  int failed = 0;
  if (strcmp(way, "workers") == 0) return serve_by_workers();
  if (strcmp(way, "daemon") == 0) failed = become_a_daemon();
  if (strcmp(way, "drops") == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 77;
  if (strcmp(way, "full") == 0) {
    failed = limit(RLIMIT_NOFILE, 64);
    while (dup(0) >= 0) {}
  }
  if (strcmp(way, "few") == 0) {
    closefrom(3);
    failed = limit(RLIMIT_NOFILE, 3);
  }
  if (strcmp(way, "narrow") == 0) failed = limit_memory();
  if (strcmp(way, "locked") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  if (failed) return 2;
  if (strcmp(way, "sleeps") == 0) {
    set(&page->threads[0].mallocs_done, 1 << 20);
    await(&page->stop);
    return 5;
  }
  while (!get(&page->stop)) {
    lap(1500);
    if (strcmp(way, "closes") == 0) closefrom(3);
    if (strcmp(way, "execs") == 0) {
      laps(2);
      execv(arguments[0], arguments);
      return 3;
    }
  }
  return 5;
}
