/* SPDX-License-Identifier: GPL-2.0-or-later */

/* A program that sleeps again and again below a buffer of 20 KiB. It has to be killed. */

#include <stdio.h>
#include <time.h>

__attribute__((noinline)) static void below_a_buffer(volatile char *buffer) {
        const struct timespec delay = { .tv_nsec = 20000000 };

        for (;;) {
                (void) nanosleep(&delay, NULL);
                buffer[0]++;
        }
}

int main(void) {
        char buffer[20u << 10];

        (void) puts("sleeping");
        (void) fflush(stdout);
        below_a_buffer(buffer);
        return 0;
}
