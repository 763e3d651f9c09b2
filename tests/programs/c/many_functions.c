/* Fifteen thousand functions that do nothing, for programs whose symbol table is to be large. */
__asm__(".macro filler\n.type filler_\\@, @function\nfiller_\\@: ret\n.size filler_\\@, 1\n.endm\n"
        ".text\n.rept 15000\nfiller\n.endr\n");
