/* Allocates and frees, and tries again and again to forbid itself system calls by a filter that the kernel refuses, until it is
   told to stop.

     fails_to_confine_itself PAGE */
#include "page.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LAP = 1000 };

/* Its only jump leads out of it. */
static int confine(void) {
  struct sock_filter rules[] = {
      BPF_JUMP(BPF_JMP | BPF_JA, 100, 0, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  while (!get(&page->stop)) {
    for (int i = 0; i < LAP; i++) {
      void *block = malloc(64);
      __asm__ volatile("" ::"r"(block) : "memory");
      free(block);
    }
    if (confine() == 0 || errno != EINVAL) return 77;
    struct page_counts *counts = &page->threads[0];
    set(&counts->mallocs_done, get(&counts->mallocs_done) + LAP);
    usleep(1000);
  }
  return 5;
}
