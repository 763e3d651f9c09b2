// A library whose only function calls the one that it is given.
void pass_on(void (*function)(void)) {
    function();
    __asm__ volatile("");
}
