/* Children of vfork confine themselves, each in another way, and end, execute a program of the arguments, or fork. Their parent, whose memory
   they have, is as free as before: it gets its signals, starts threads that allocate, and what it executes is recorded. In the end a thread
   confines itself while another one waits in vfork, which gets its signals, too. */
#include "say.h"

#include "filter.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char *path, *second;
static volatile sig_atomic_t signals;

static void handle(int signal) {
  (void)signal;
  signals++;
}

static volatile int step;

static void *waits_in_vfork(void *result) {
  pid_t child = vfork();
  if (child == 0) {
    step = 1;
    while (step == 1) continue;
    _exit(0);
  }
  raise(SIGUSR1);
  return child > 0 ? result : NULL;
}

static void *work(void *nothing) {
  for (int i = 0; i < 10; i++) free(malloc(2601));
  return nothing;
}

static int kill_for(int call) { return forbid(call, SECCOMP_RET_KILL_PROCESS); }

static void execute(const char *name) {
  char *arguments[] = {path, (char *)name, NULL};
  execv(path, arguments);
  _exit(9);
}

static void confine(int way) {
  const struct rlimit limit = {1ul << 40, 1ul << 40};
  switch (way) {
  case 0: _exit(kill_for(SYS_gettid) ? 77 : 10);
  case 1:
    if (kill_for(SYS_connect)) _exit(77);
    execute("confined");
    break;
  case 2: {
    if (kill_for(SYS_gettid)) _exit(77);
    pid_t child = fork();
    if (child == 0) {
      free(malloc(2602));
      _exit(12);
    }
    int status;
    _exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  case 3: _exit(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) ? 77 : 13);
  case 4: _exit(setrlimit(RLIMIT_AS, &limit) ? 77 : 14);
  case 5:
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) _exit(77);
    syscall(SYS_exit, 15);
    break;
  case 6:
    if (second == NULL) _exit(0);
    if (refuse(SYS_gettid)) _exit(77);
    path = second;
    execute("alone");
    break;
  default: execute("free");
  }
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  char *first = arguments[1];
  second = count > 2 ? arguments[2] : NULL;
  signal(SIGUSR1, handle);
  const struct rlimit limit = {1ul << 46, 1ul << 46};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  const int codes[] = {10, 0, 12, 13, 14, 15, 0, 0};
  for (volatile int way = 0; way < 8; way++) {
    path = first;
    int status;
    pid_t child = vfork();
    if (child == 0) confine(way);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 20 + way;
    if (WEXITSTATUS(status) == 77) return 77;
    if (WEXITSTATUS(status) != codes[way]) return 30 + way;
    raise(SIGUSR1);
    if (signals != way + 1) return 40 + way;
    struct rlimit found;
    if (getrlimit(RLIMIT_AS, &found) != 0 || found.rlim_cur != limit.rlim_cur) return 50 + way;
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 60 + way;
  }
  pthread_t thread;
  void *result = NULL;
  if (pthread_create(&thread, NULL, waits_in_vfork, &thread) != 0) return 70;
  while (step == 0) continue;
  if (kill_for(SYS_gettid)) return 77;
  step = 2;
  if (pthread_join(thread, &result) != 0 || result == NULL) return 71;
  return signals == 9 ? 0 : 72;
}
