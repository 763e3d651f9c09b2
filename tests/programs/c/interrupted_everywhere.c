/* A child whose calls are interrupted by a signal within the agent: its parent has it do a call again and again, steps through it, and sends
   the signal at another of its instructions each time, of which so many are chosen, evenly. The handler allocates, and leaves by siglongjmp
   if it is told so. Needs an allocator that may be left at any instruction. Prints how often each call was made, and how often the handler
   ran.

     interrupted_everywhere stays|leaves INSTRUCTIONS */
#include "say.h"
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#define STOP() __asm__ volatile("int3" ::: "memory")

/* What the parent changes. */
static volatile long is_over;
/* What it reads. */
static volatile long handled, made;

static sigjmp_buf again;
static int leaves;

static void on_signal(int number) {
  (void)number;
  free(malloc(2501));
  handled++;
  STOP();
  if (leaves) siglongjmp(again, 1);
}

static void *volatile kept;

static void child(void) {
  int status;
  pid_t pid = vfork();
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid(pid, &status, 0);
}
static void pages(void) { munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096); }
static void plain(void) { free(malloc(2502)); }
static void zeroed(void) { free(calloc(1, 2502)); }
static void aligned(void) { free(aligned_alloc(64, 2502)); }
static void placed(void) {
  void *block;
  if (posix_memalign(&block, 64, 2502) == 0) free(block);
}
static void grown(void) { kept = realloc(kept, 2502); }
static void (*const calls[])(void) = {child, pages, plain, zeroed, aligned, placed, grown};
enum { CALLS = sizeof calls / sizeof *calls };

static void do_calls(void) {
  ptrace(PTRACE_TRACEME, 0, 0, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGSTOP);
  for (volatile int call = 0; call < CALLS; call++) {
    is_over = made = 0;
    sigsetjmp(again, 1);
    while (!is_over) {
      /* What a thread does that begins, or begins anew, is another matter. */
      for (int i = 0; i < 3; i++) calls[call]();
      made += 4;
      STOP();
      calls[call]();
      STOP();
    }
  }
  /* What signals have done within the last call is told with the next. */
  free(malloc(2503));
  _exit(0);
}

static unsigned long start, end;

/* Where the agent's code is. */
static int find_agent(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  static char line[4096], buffer[4096];
  if (maps == NULL) return 0;
  setvbuf(maps, buffer, _IOFBF, sizeof buffer);
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "sysprof_memprof") != NULL && strstr(line, "r-xp") != NULL) {
      sscanf(line, "%lx-%lx", &start, &end);
    }
  }
  fclose(maps);
  return end != 0;
}

static pid_t traced;

/* The signal that it has stopped with, 0 if it has ended. */
static int stopped(void) {
  int status;
  if (waitpid(traced, &status, __WALL) != traced || !WIFSTOPPED(status)) return 0;
  return WSTOPSIG(status);
}

/* Whether it has stopped by itself, and not after an instruction. */
static int by_itself(void) {
  siginfo_t info;
  return ptrace(PTRACE_GETSIGINFO, traced, 0, &info) == 0 && info.si_code == SI_KERNEL;
}

static int is_interruptible(void) {
  unsigned long blocked = 0;
  ptrace(PTRACE_GETSIGMASK, traced, sizeof blocked, &blocked);
  return (blocked >> (SIGUSR1 - 1) & 1) == 0;
}

static int go_on(void) {
  int signal;
  do {
    ptrace(PTRACE_CONT, traced, 0, 0);
    signal = stopped();
  } while (signal != 0 && !(signal == SIGTRAP && by_itself()));
  return signal;
}

/* Steps to the agent's instruction of this number, and interrupts it: -1. Comes to the end before that: how many there are. Other
   signals: -2. */
static long interrupt_at(long number) {
  for (long at = 0;;) {
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, traced, 0, &registers);
    int is_inside = registers.rip >= start && registers.rip < end && is_interruptible();
    if (is_inside && at++ == number) {
      ptrace(PTRACE_SINGLESTEP, traced, 0, SIGUSR1);
      return stopped() == SIGTRAP && go_on() == SIGTRAP ? -1 : -2;
    }
    ptrace(PTRACE_SINGLESTEP, traced, 0, 0);
    int signal = stopped();
    if (signal == SIGCHLD) continue;
    if (signal != SIGTRAP) return -2;
    if (by_itself()) return at;
  }
}

static long word(volatile long *place) { return ptrace(PTRACE_PEEKDATA, traced, (void *)place, 0); }

int main(int count, char **arguments) {
  if (count < 3 || !find_agent()) return 1;
  long chosen = atol(arguments[2]);
  leaves = strcmp(arguments[1], "leaves") == 0;
  traced = fork();
  if (traced == 0) do_calls();
  if (stopped() != SIGSTOP) return 2;
  for (int call = 0; call < CALLS; call++) {
    if (go_on() != SIGTRAP) return 3;
    long all = interrupt_at(LONG_MAX);
    for (long number = 0; number < all; number += all / chosen + 1) {
      if (go_on() != SIGTRAP) return 4;
      long ended = interrupt_at(number);
      if (ended == -2 || (ended == -1 && !leaves && go_on() != SIGTRAP)) return 5;
    }
    printf("%ld ", word(&made));
    ptrace(PTRACE_POKEDATA, traced, (void *)&is_over, 1L);
  }
  printf("%ld\n", word(&handled));
  return go_on() == 0 ? 0 : 6;
}
