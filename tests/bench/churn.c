/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What the accounts of waits and of exits are asked to do as fast as it goes, on one CPU:
 *
 *     churn switches N         two threads wake each other through pipes, N times in all
 *     churn threads N [RATE]   N threads that do nothing begin and end, at most RATE a second
 *     churn names N [RATE]     the same, each under a name of its own
 *     churn processes N        as many processes, by vfork
 *
 * Prints the CPU time that it took, and the time that passed, in nanoseconds.
 */

#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000LL

typedef struct Side {
        int in, out;
        unsigned long n;
} Side;

static long long now_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static long long used_ns(int whose) {
        struct rusage usage;

        if (getrusage(whose, &usage) < 0)
                err(1, "getrusage");
        return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NSEC_PER_SEC +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

/* The whole process, whose threads inherit it. */
static void stay_on_one_cpu(void) {
        int cpu = sched_getcpu();
        cpu_set_t cpus;

        if (cpu < 0)
                err(1, "sched_getcpu");
        CPU_ZERO(&cpus);
        CPU_SET((unsigned) cpu, &cpus);
        if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
                err(1, "sched_setaffinity");
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument) {
        int r = pthread_create(thread, NULL, run, argument);

        if (r != 0)
                errx(1, "no thread: %s", strerror(r));
}

/* switches */

static void *echo(void *argument) {
        const Side *side = argument;
        char byte;

        for (unsigned long i = 0; i < side->n; i++)
                if (read(side->in, &byte, 1) != 1 || write(side->out, &byte, 1) != 1)
                        err(1, "pipe");
        return NULL;
}

/* Each byte that goes back and forth takes two switches. */
static void switch_threads(unsigned long n) {
        int there[2], back[2];
        pthread_t thread;
        Side side;
        char byte = 0;

        if (pipe(there) < 0 || pipe(back) < 0)
                err(1, "pipe");
        side = (Side){ .in = there[0], .out = back[1], .n = n / 2 };
        start(&thread, echo, &side);
        for (unsigned long i = 0; i < n / 2; i++)
                if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
                        err(1, "pipe");
        (void) pthread_join(thread, NULL);
}

/* lives */

static void *do_nothing(void *unused) {
        return NULL;
}

/* The number of the thread and of the process: no two have the same while both are running. */
static void *take_a_name(void *number) {
        char name[16];

        (void) snprintf(name, sizeof(name), "%lx-%x", (unsigned long) (uintptr_t) number,
                        (unsigned) getpid());
        (void) prctl(PR_SET_NAME, name);
        return NULL;
}

static void wait_until(long long moment_ns) {
        struct timespec moment = { .tv_sec = moment_ns / NSEC_PER_SEC,
                                   .tv_nsec = moment_ns % NSEC_PER_SEC };

        (void) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
}

static void live_as_threads(void *(*run)(void *), unsigned long n, unsigned long rate) {
        long long begin_ns = now_ns();

        for (unsigned long i = 0; i < n; i++) {
                pthread_t thread;

                start(&thread, run, (void *) (uintptr_t) i);
                (void) pthread_join(thread, NULL);
                if (rate != 0 && i % 64 == 0)
                        wait_until(begin_ns + (long long) (i * NSEC_PER_SEC / rate));
        }
}

/* The cheapest life that a process can have; of its own, for the child runs on its stack. */
__attribute__((__noinline__)) static void live_as_process(void) {
        pid_t pid = vfork();

        if (pid == 0)
                _exit(0);
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
                err(1, "vfork");
}

static void live_as_processes(unsigned long n) {
        for (unsigned long i = 0; i < n; i++)
                live_as_process();
}

int main(int argc, char **argv) {
        unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
        unsigned long rate = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
        long long begin_ns = now_ns();

        if (n == 0)
                errx(2, "usage: churn switches|threads|names|processes N [RATE]");
        stay_on_one_cpu();
        if (strcmp(argv[1], "switches") == 0)
                switch_threads(n);
        else if (strcmp(argv[1], "threads") == 0)
                live_as_threads(do_nothing, n, rate);
        else if (strcmp(argv[1], "names") == 0)
                live_as_threads(take_a_name, n, rate);
        else if (strcmp(argv[1], "processes") == 0)
                live_as_processes(n);
        else
                errx(2, "%s: neither switches, nor threads, nor names, nor processes", argv[1]);
        printf("%lld %lld\n", used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN), now_ns() - begin_ns);
        return 0;
}
