/* A library with one function that allocates, and whose frame has FRAME bytes; else the same code whatever FRAME is. */
#define TEXT(number) #number
#define NUMBER(number) TEXT(number)
__asm__(
    ".text\n"
    ".globl allocate\n"
    ".type allocate, @function\n"
    "allocate:\n"
    ".cfi_startproc\n"
    "sub $" NUMBER(FRAME) ", %rsp\n"
    ".cfi_adjust_cfa_offset " NUMBER(FRAME) "\n"
    "mov $2001, %edi\n"
    "call malloc@PLT\n"
    "mov %rax, %rdi\n"
    "call free@PLT\n"
    "add $" NUMBER(FRAME) ", %rsp\n"
    ".cfi_adjust_cfa_offset -" NUMBER(FRAME) "\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size allocate, .-allocate\n"
    ".section .note.GNU-stack,\"\",@progbits\n"
    ".text\n");
