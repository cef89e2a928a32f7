/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Busy
 *
 * A load of known size, on command: two named threads burn a second of CPU between them, and one of
 * them writes 64 MiB to an unlinked file. It lives on afterwards, idle, so that two snapshots find
 * the same threads.
 *
 *     busy GO DONE DIRECTORY
 *
 * GO and DONE are FIFOs. It writes a line to DONE when it is ready and again after each round, does
 * a round for each line read from GO, and ends when GO has no writer left.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BURN_NS (500 * 1000000LL)
#define WRITE_BYTES (64u * 1024u * 1024u)
#define N_WORKERS 2

static char block[1 << 20];
static pthread_barrier_t start_line, finish_line;
static const char *directory;

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static long long thread_cpu_ns(void) {
        struct timespec now;

        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0)
                fail("clock_gettime");
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void write_file(void) {
        int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

        if (fd < 0)
                fail(directory);
        for (size_t written = 0; written < WRITE_BYTES; written += sizeof(block))
                if (write(fd, block, sizeof(block)) != (ssize_t) sizeof(block))
                        fail("write");
        (void) close(fd);
}

static void *worker(void *argument) {
        const char *name = argument;
        volatile unsigned long spin = 0;

        if (pthread_setname_np(pthread_self(), name) != 0)
                fail("pthread_setname_np");
        for (;;) {
                long long until;

                (void) pthread_barrier_wait(&start_line);
                until = thread_cpu_ns() + BURN_NS;
                if (strcmp(name, "busy-writer") == 0)
                        write_file();
                while (thread_cpu_ns() < until)
                        for (unsigned i = 0; i < 10000; i++)
                                spin++;
                (void) pthread_barrier_wait(&finish_line);
        }
        return NULL;
}

int main(int argc, char **argv) {
        static char names[N_WORKERS][16] = { "busy-burner", "busy-writer" };
        FILE *go, *done;
        char line[64];

        if (argc != 4) {
                fprintf(stderr, "usage: busy GO DONE DIRECTORY\n");
                return 2;
        }
        directory = argv[3];
        memset(block, 'x', sizeof(block));
        if (pthread_barrier_init(&start_line, NULL, N_WORKERS + 1) != 0 ||
            pthread_barrier_init(&finish_line, NULL, N_WORKERS + 1) != 0)
                fail("pthread_barrier_init");
        for (unsigned i = 0; i < N_WORKERS; i++) {
                pthread_t thread;

                if (pthread_create(&thread, NULL, worker, names[i]) != 0)
                        fail("pthread_create");
        }

        /* A FIFO opened for writing waits for its reader: that is the hand-shake. */
        for (;;) {
                done = fopen(argv[2], "we");
                if (!done)
                        fail(argv[2]);
                if (fputs("ready\n", done) < 0 || fclose(done) != 0)
                        fail(argv[2]);
                go = fopen(argv[1], "re");
                if (!go)
                        fail(argv[1]);
                if (!fgets(line, sizeof(line), go))
                        return EXIT_SUCCESS;
                (void) fclose(go);
                (void) pthread_barrier_wait(&start_line);
                (void) pthread_barrier_wait(&finish_line);
        }
}
