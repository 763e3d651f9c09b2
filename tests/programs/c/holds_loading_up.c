/* An auditor of the dynamic loader (LD_AUDIT) without a C library: as long as there is a file `closed` in the folder, who loads the agent
   waits in the loader, as for a disk that does not answer. */
#include <stdint.h>
#include <sys/syscall.h>

static long call(long number, long one, long two) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(one), "S"(two) : "rcx", "r11", "memory");
  return result;
}

unsigned la_version(unsigned version) { return version; }

static int is_the_agent(const char *name) {
  static const char agent[] = "sysprof_memprof";
  for (; *name; name++) {
    int same = 0;
    while (agent[same] && name[same] == agent[same]) same++;
    if (!agent[same]) return 1;
  }
  return 0;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag) {
  (void)cookie, (void)flag;
  struct {
    long seconds, nanoseconds;
  } pause = {0, 1000000};
  while (is_the_agent(name) && call(SYS_access, (long)"closed", 0) == 0) call(SYS_nanosleep, (long)&pause, 0);
  return (char *)name;
}
