/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * How long a process can be kept from mapping memory: map-latency MIB
 *
 * Holds so many MiB in pages of 4 KiB, while a thread maps, touches and unmaps 64 KiB every 200 us.
 * Prints "ready"; then, for each line that it reads, the longest of these rounds since the last
 * line, in nanoseconds.
 */

#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096
#define PIECE (64 * 1024)
#define PAUSE_NS 200000

static _Atomic uint64_t longest_ns;

static uint64_t now_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static char *map(size_t n) {
        void *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                err(1, "mmap");
        return memory;
}

static void touch(char *memory, size_t n) {
        for (size_t i = 0; i < n; i += PAGE)
                *(volatile char *) (memory + i) = 1;
}

static void *run(void *userdata) {
        const struct timespec pause = { .tv_nsec = PAUSE_NS };

        for (;;) {
                uint64_t begin_ns = now_ns(), took_ns, longest = atomic_load(&longest_ns);
                char *memory = map(PIECE);

                touch(memory, PIECE);
                (void) munmap(memory, PIECE);
                took_ns = now_ns() - begin_ns;
                while (took_ns > longest &&
                       !atomic_compare_exchange_weak(&longest_ns, &longest, took_ns))
                        ;
                (void) nanosleep(&pause, NULL);
        }
        __builtin_unreachable();
}

int main(int argc, char *argv[]) {
        size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) << 20 : 0;
        pthread_t thread;
        char line[16];
        char *memory;

        if (n == 0)
                errx(2, "usage: map-latency MIB");
        memory = map(n);
        (void) madvise(memory, n, MADV_NOHUGEPAGE);
        touch(memory, n);
        if (pthread_create(&thread, NULL, run, NULL) != 0)
                errx(1, "no thread can be started");
        (void) printf("ready\n");
        (void) fflush(stdout);
        while (fgets(line, sizeof(line), stdin)) {
                (void) printf("%" PRIu64 "\n", atomic_exchange(&longest_ns, 0));
                (void) fflush(stdout);
        }
        return 0;
}
