/* SPDX-License-Identifier: GPL-2.0-or-later */

/* A program that computes without a stack: its stack pointer leads nowhere. It has to be killed. */

#include <stdio.h>

__attribute__((noinline)) static void without_a_stack(void) {
#if defined(__x86_64__)
        __asm__ volatile("movq $16, %rsp\n"
                         "1:\n"
                         "decq %rax\n"
                         "jmp 1b\n");
#else
        __asm__ volatile("mov x0, #16\n"
                         "mov sp, x0\n"
                         "1:\n"
                         "sub x0, x0, #1\n"
                         "b 1b\n");
#endif
}

int main(void) {
        (void) puts("computing");
        (void) fflush(stdout);
        without_a_stack();
        return 0;
}
