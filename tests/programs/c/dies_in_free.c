// Frees or resizes what is no block, and dies of reading it: prints in which library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static void say(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    const ucontext_t *at = context;
#ifdef __x86_64__
    void *code = (void *)at->uc_mcontext.gregs[REG_RIP];
#else
    void *code = (void *)at->uc_mcontext.pc;
#endif
    Dl_info found;
    const char *name = dladdr(code, &found) ? strrchr(found.dli_fname, '/') : NULL;
    if (name && write(1, name + 1, strlen(name + 1)) < 0) _exit(1);
    signal(SIGSEGV, SIG_DFL);
}

static char *volatile keeper;

__attribute__((noinline)) static void guilty(void *block, int resizes) {
    if (resizes) {
        keeper = realloc(block, 64);
    } else {
        free(block);
    }
    __asm__ volatile("");
}

int main(int count, char **arguments) {
    struct sigaction action = {.sa_sigaction = say, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    const char *which = arguments[1];
    char *block = malloc(262144);
    void *wrong = (void *)0x10000;
    if (!strcmp(which, "twice")) {
        wrong = block;
        free(block);
    }
    if (!strcmp(which, "far")) wrong = block + (1ul << 30);
    if (!strcmp(which, "odd")) wrong = (void *)1;
    if (!strcmp(which, "high")) wrong = (void *)0x7fff00000010;
    if (!strcmp(which, "noncanonical")) wrong = (void *)0x1234567812345670;
    guilty(wrong, count > 2);
    return 0;
}
