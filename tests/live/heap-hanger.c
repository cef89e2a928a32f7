/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * heap-hanger FILE [OFFSET]: has a thread whose control block lies in a page of FILE that nobody
 * has read yet, so that who reads the counters of its allocator reads FILE. Says "ready" when the
 * thread is so, and ends with its standard input.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

static char *page;
static volatile int is_ready; /* set by the thread, which has no library any more then */

static long call(long number, long first, long second) {
        long result;

#if defined(__x86_64__)
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "0"(number), "D"(first), "S"(second)
                         : "rcx", "r11", "memory");
#elif defined(__aarch64__)
        register long x8 __asm__("x8") = number;
        register long x0 __asm__("x0") = first;
        register long x1 __asm__("x1") = second;

        __asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x8) : "memory");
        result = x0;
#else
#error "not known how to enter the kernel"
#endif
        return result;
}

static void move_pointer(uintptr_t place) {
#if defined(__x86_64__)
        (void) call(SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, (long) place);
#elif defined(__aarch64__)
        __asm__ volatile("msr tpidr_el0, %0" : : "r"(place));
#endif
}

/* The stack protector would look for its canary in the page. */
__attribute__((no_stack_protector)) static void *hang(void *userdata) {
        static struct { long seconds, nanoseconds; } const moment = { 0, 20000000 };
        uintptr_t place = (uintptr_t) page + PAGE / 2;

        free(malloc(100)); /* it uses the allocator */
        (void) call(SYS_set_robust_list, (long) place, 24);
        move_pointer(place);
        is_ready = 1;
        for (;;)
                (void) call(SYS_nanosleep, (long) &moment, 0);
        return NULL;
}

int main(int argc, char **argv) {
        long offset = argc > 2 ? atol(argv[2]) : 0;
        pthread_t thread;
        char byte;
        int fd;

        if (argc < 2)
                return 2;
        fd = open(argv[1], O_RDONLY | O_CLOEXEC);
        page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, offset);
        if (fd < 0 || page == MAP_FAILED) {
                perror(argv[1]);
                return 1;
        }
        (void) close(fd);
        if (pthread_create(&thread, NULL, hang, NULL) != 0)
                return 1;
        while (!is_ready)
                (void) usleep(1000);
        if (puts("ready") < 0 || fflush(stdout) != 0)
                return 1;
        while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
        _exit(0); /* the thread cannot be joined */
}
