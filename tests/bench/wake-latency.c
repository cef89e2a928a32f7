/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * How late a thread wakes that a timer calls every millisecond: wake-latency
 *
 * On each CPU that it may run on, such a thread beside a hog, which never sleeps. Prints "ready";
 * then, for each line that it reads, how many times they woke since the last line, and the median,
 * the 99th percentile and the longest of the delays, in nanoseconds.
 */

#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD_NS 1000000
#define MAX_DELAYS (1u << 20) /* of all CPUs, between two lines */

static uint32_t delays[MAX_DELAYS], sorted[MAX_DELAYS];
static atomic_uint n_delays;

static uint64_t now_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static void note(uint64_t delay) {
        unsigned i = atomic_fetch_add(&n_delays, 1);

        if (i < MAX_DELAYS)
                delays[i] = delay < UINT32_MAX ? (uint32_t) delay : UINT32_MAX;
}

static void *sleeper(void *unused) {
        uint64_t next = now_ns();

        for (;;) {
                uint64_t now;
                struct timespec wanted;

                next += PERIOD_NS;
                wanted = (struct timespec){ .tv_sec = (time_t) (next / 1000000000),
                                            .tv_nsec = (long) (next % 1000000000) };
                while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, NULL) != 0)
                        continue;
                now = now_ns();
                note(now - next);
                /* Periods that passed meanwhile are part of this delay, not further ones. */
                if (now > next + PERIOD_NS)
                        next = now;
        }
        return NULL;
}

static void *hog(void *unused) {
        for (;;)
                __asm__ volatile("" ::: "memory");
        return NULL;
}

static void start(void *(*run)(void *), unsigned cpu) {
        pthread_attr_t attributes;
        pthread_t thread;
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(cpu, &cpus);
        if (pthread_attr_init(&attributes) != 0 ||
            pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus) != 0 ||
            pthread_create(&thread, &attributes, run, NULL) != 0)
                errx(1, "no thread on CPU %u", cpu);
        (void) pthread_attr_destroy(&attributes);
}

static int compare(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

static void report(void) {
        unsigned n = atomic_load(&n_delays);

        n = n < MAX_DELAYS ? n : MAX_DELAYS;
        memcpy(sorted, delays, n * sizeof(sorted[0]));
        atomic_store(&n_delays, 0);
        qsort(sorted, n, sizeof(sorted[0]), compare);
        if (n == 0)
                printf("0 0 0 0\n");
        else
                printf("%u %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", n, sorted[n / 2],
                       sorted[(uint64_t) n * 99 / 100], sorted[n - 1]);
        (void) fflush(stdout);
}

int main(void) {
        cpu_set_t cpus;
        int c;

        if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
                err(1, "sched_getaffinity");
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
                if (CPU_ISSET(cpu, &cpus)) {
                        start(hog, cpu);
                        start(sleeper, cpu);
                }
        printf("ready\n");
        (void) fflush(stdout);
        while ((c = getchar()) != EOF)
                if (c == '\n')
                        report();
        return 0;
}
