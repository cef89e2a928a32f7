/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Idle
 *
 * Many threads that do nothing, to be counted and read.
 *
 *     idle THREADS PROCESSES [NAME...]
 *
 * Starts THREADS threads spread over PROCESSES processes (the leaders count), writes one line
 * "PID..." with all process ids when every thread waits, and ends them all when standard input
 * ends. Names are given to the threads in turn, with \xNN for any byte. Each thread writes to one
 * page that its process inherited, so that each has one copy-on-write delay on its account.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 16384
#define MAX_NAMES 64

static char names[MAX_NAMES][16];
static unsigned n_names;
static unsigned n_named;
static pthread_barrier_t ready;
static char *pages; /* one a thread, touched before the fork */
static size_t page_bytes;
static unsigned n_pages_taken;

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void read_name(const char *text) {
        size_t n = 0;

        if (n_names == MAX_NAMES)
                return;
        while (*text && n < 15) {
                unsigned byte;

                if (sscanf(text, "\\x%2x", &byte) == 1) {
                        names[n_names][n++] = (char) byte;
                        text += 4;
                } else {
                        names[n_names][n++] = *text++;
                }
        }
        n_names++;
}

/* As little as the machine allows, for there are many: arm64 wants twice as much as x86. */
static size_t stack_bytes(void) {
        long least = sysconf(_SC_THREAD_STACK_MIN);

        return least > 64 * 1024 ? (size_t) least : 64 * 1024;
}

static void take_page(void) {
        unsigned page = __atomic_fetch_add(&n_pages_taken, 1, __ATOMIC_RELAXED);

        pages[page * page_bytes] = 'w';
}

static void *sleeper(void *argument) {
        const char *name = argument;

        if (name)
                (void) prctl(PR_SET_NAME, name);
        take_page();
        (void) pthread_barrier_wait(&ready);
        for (;;)
                (void) pause();
        return NULL;
}

/* One process: @n_threads with the leader; tells its parent through @fd when all of them wait. */
static void run_process(unsigned n_threads, int fd) {
        pthread_attr_t attributes;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || pthread_attr_init(&attributes) != 0 ||
            pthread_attr_setstacksize(&attributes, stack_bytes()) != 0 ||
            pthread_barrier_init(&ready, NULL, n_threads) != 0)
                fail("set-up");
        for (unsigned i = 1; i < n_threads; i++) {
                pthread_t thread;
                void *name = n_names > 0 ? names[n_named++ % n_names] : NULL;

                if (pthread_create(&thread, &attributes, sleeper, name) != 0)
                        fail("pthread_create");
        }
        take_page();
        (void) pthread_barrier_wait(&ready);
        if (write(fd, "r", 1) != 1)
                fail("write");
        for (;;)
                (void) pause();
}

int main(int argc, char **argv) {
        unsigned n_threads, n_processes;
        pid_t pids[MAX_PROCESSES];
        int fds[2];
        char byte;

        if (argc < 3) {
                fprintf(stderr, "usage: idle THREADS PROCESSES [NAME...]\n");
                return 2;
        }
        n_threads = (unsigned) atoi(argv[1]);
        n_processes = (unsigned) atoi(argv[2]);
        if (n_processes == 0 || n_processes > MAX_PROCESSES || n_threads < n_processes)
                return 2;
        for (int i = 3; i < argc; i++)
                read_name(argv[i]);
        if (pipe(fds) < 0)
                fail("pipe");
        page_bytes = (size_t) sysconf(_SC_PAGESIZE);
        pages = mmap(NULL, (n_threads / n_processes + 1) * page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || madvise(pages, page_bytes, MADV_NOHUGEPAGE) < 0)
                fail("mmap");
        memset(pages, 'r', (n_threads / n_processes + 1) * page_bytes);

        for (unsigned i = 0; i < n_processes; i++) {
                unsigned share = n_threads / n_processes + (i < n_threads % n_processes);

                pids[i] = fork();
                if (pids[i] < 0)
                        fail("fork");
                if (pids[i] == 0)
                        run_process(share, fds[1]);
                n_named += share - 1;
        }
        (void) close(fds[1]); /* so that the end of a process that could not start is seen */
        for (unsigned i = 0; i < n_processes; i++)
                if (read(fds[0], &byte, 1) != 1)
                        fail("read");
        for (unsigned i = 0; i < n_processes; i++)
                printf(i + 1 < n_processes ? "%d " : "%d\n", (int) pids[i]);
        if (fflush(stdout) != 0)
                fail("stdout");

        while (read(STDIN_FILENO, &byte, 1) > 0)
                continue;
        for (unsigned i = 0; i < n_processes; i++)
                (void) kill(pids[i], SIGKILL);
        for (unsigned i = 0; i < n_processes; i++)
                (void) waitpid(pids[i], NULL, 0);
        return EXIT_SUCCESS;
}
