/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A program that makes code while it runs, as compilers at run time do, and writes the map of it
 * for perf(1). One thread, "in_code", computes there; another one,
 * "in_clock", reads a clock in the code that the kernel gives to processes. Tells the path of the
 * map, and ends with its input.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Counts down, with a frame pointer. */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                      0x48, 0xff, 0xc8, 0x75, 0xfb, 0x5d, 0xc3 };
#else
static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xd1000400,
                                 0xb5ffffe0, 0xa8c17bfd, 0xd65f03c0 };
#endif

typedef void CountDown(uint64_t n);

static void *at_code(void *argument) {
        CountDown *count_down;

        memcpy(&count_down, &argument, sizeof(count_down));
        (void) pthread_setname_np(pthread_self(), "in_code");
        for (;;)
                count_down(1000000);
        return NULL;
}

static void *at_clock(void *argument) {
        struct timespec now;

        (void) pthread_setname_np(pthread_self(), "in_clock");
        for (;;)
                (void) clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return NULL;
}

int main(void) {
        char path[64];
        pthread_t threads[2];
        FILE *map;
        char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                return 1;
        memcpy(memory + 64, code, sizeof(code));
        __builtin___clear_cache(memory, memory + 4096);
        if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0)
                return 1;
        (void) snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int) getpid());
        map = fopen(path, "w");
        if (!map)
                return 1;
        (void) fprintf(map, "not a line\n%lx 10 before\n%lx 40 replaced\n%lx 40 count down;made\n",
                       (unsigned long) memory, (unsigned long) memory + 64,
                       (unsigned long) memory + 64);
        (void) fclose(map);
        if (pthread_create(&threads[0], NULL, at_code, memory + 64) != 0 ||
            pthread_create(&threads[1], NULL, at_clock, NULL) != 0)
                return 1;
        (void) puts(path);
        (void) fflush(stdout);
        while (getchar() != EOF)
                ;
        return 0;
}
