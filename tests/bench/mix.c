/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Mix
 *
 * Threads that are by turns in two or three known functions, and know themselves for how long. Most
 * functions wait, each pair of them in one place: for times of both sides of a period, so that a
 * profiler has to guess at the shorter ones. Two threads compute.
 *
 *     mix SECONDS FILE
 *
 * Begins at a byte on standard input. After that time writes "THREAD FUNCTION NANOSECONDS" for each
 * function, and an empty line; and stays, until standard input ends. FILE is written to.
 */

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Reads the clock itself, so that this is in it, too; and returns by itself, as that comes last. */
#define KNOWN(name, does)                                           \
        static __attribute__((noinline)) void name(long long *ns) { \
                long long begin_ns = now_ns();                      \
                                                                    \
                does;                                               \
                *ns += now_ns() - begin_ns;                         \
        }

#define NSEC_PER_SEC 1000000000LL
#define NSEC_PER_MSEC 1000000L
#define N_FUNCTIONS 3
#define PAGE 4096

/*
 * A thread, its functions by turns, and who ends their waits meanwhile. It naps where it would find
 * nobody in its way, for reading the clock is no small part of a function that does nothing.
 */
typedef struct Worker {
        const char *name;
        struct {
                const char *name;
                void (*run)(long long *ns);
                unsigned n; /* calls a turn */
                long long ns;
        } functions[N_FUNCTIONS];
        void (*partner)(void);
} Worker;

static pthread_barrier_t begin;
static volatile bool is_over;
static volatile uint64_t result;

static int pipes[2][2], sockets[2][2], written_file, locked_files[2];
static pthread_mutex_t mutexes[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static sem_t semaphores[2];

static long long now_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void pause_for(long ns) {
        const struct timespec time = { 0, ns };

        (void) nanosleep(&time, NULL);
}

static void compute_for(long long ns, bool squares) {
        long long end_ns = now_ns() + ns;

        while (now_ns() < end_ns)
                for (uint64_t i = 0; i < 10000; i++)
                        result += squares ? i * i : i;
}

static void touch(size_t n_pages) {
        char *memory = mmap(NULL, n_pages * PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                err(1, "mmap");
        for (size_t i = 0; i < n_pages; i++)
                ((volatile char *) memory)[i * PAGE] = 1;
        (void) munmap(memory, n_pages * PAGE);
}

static void take_byte(int fd) {
        char byte;

        (void) !read(fd, &byte, 1);
}

static void wait_for_child(long ns) {
        pid_t pid = fork();

        if (pid == 0) {
                pause_for(ns);
                _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
                err(1, "fork");
}

static void write_out(int fd, size_t size) {
        static char block[1 << 18];

        if (pwrite(fd, block, size, 0) < 0 || fdatasync(fd) < 0)
                err(1, "write");
}

/* The known functions. */

KNOWN(nap_short, pause_for(300 * 1000L))
KNOWN(nap_middle, pause_for(2 * NSEC_PER_MSEC))
KNOWN(nap_long, pause_for(15 * NSEC_PER_MSEC))
KNOWN(poll_short, (void) poll(NULL, 0, 1))
KNOWN(poll_long, (void) poll(NULL, 0, 12))
KNOWN(read_soon, take_byte(pipes[0][0]))
KNOWN(read_late, take_byte(pipes[1][0]))
KNOWN(receive_soon, take_byte(sockets[0][0]))
KNOWN(receive_late, take_byte(sockets[1][0]))
KNOWN(lock_soon, (void) pthread_mutex_lock(&mutexes[0]); (void) pthread_mutex_unlock(&mutexes[0]))
KNOWN(lock_late, (void) pthread_mutex_lock(&mutexes[1]); (void) pthread_mutex_unlock(&mutexes[1]))
KNOWN(post_soon, (void) sem_wait(&semaphores[0]))
KNOWN(post_late, (void) sem_wait(&semaphores[1]))
KNOWN(file_soon, (void) flock(locked_files[0], LOCK_EX); (void) flock(locked_files[0], LOCK_UN))
KNOWN(sync_small, write_out(written_file, PAGE))
KNOWN(sync_large, write_out(written_file, 1 << 18))
KNOWN(child_soon, wait_for_child(NSEC_PER_MSEC))
KNOWN(child_late, wait_for_child(5 * NSEC_PER_MSEC))
KNOWN(touch_few, touch(256))
KNOWN(touch_many, touch(2048))
KNOWN(sum_up, compute_for(3 * NSEC_PER_MSEC, false))
KNOWN(square, compute_for(9 * NSEC_PER_MSEC, true))

/* Those who end the waits. */

static void feed_pipes(void) {
        pause_for(500 * 1000L);
        (void) !write(pipes[0][1], "", 1);
        pause_for(3 * NSEC_PER_MSEC);
        (void) !write(pipes[1][1], "", 1);
}

static void feed_sockets(void) {
        pause_for(500 * 1000L);
        (void) !write(sockets[0][1], "", 1);
        pause_for(3 * NSEC_PER_MSEC);
        (void) !write(sockets[1][1], "", 1);
}

static void hold(pthread_mutex_t *mutex, long ns) {
        (void) pthread_mutex_lock(mutex);
        pause_for(ns);
        (void) pthread_mutex_unlock(mutex);
}

static void hold_locks(void) {
        hold(&mutexes[0], NSEC_PER_MSEC);
        hold(&mutexes[1], 4 * NSEC_PER_MSEC);
}

static void post(void) {
        pause_for(NSEC_PER_MSEC);
        (void) sem_post(&semaphores[0]);
        pause_for(4 * NSEC_PER_MSEC);
        (void) sem_post(&semaphores[1]);
}

static void hold_file(void) {
        (void) flock(locked_files[1], LOCK_EX);
        pause_for(2 * NSEC_PER_MSEC);
        (void) flock(locked_files[1], LOCK_UN);
        pause_for(100 * 1000L);
}

#define F(function, n) \
        { #function, function, n, 0 }

static Worker workers[] = {
        { "naps", { F(nap_short, 8), F(nap_middle, 2), F(nap_long, 1) }, NULL },
        { "polls", { F(poll_short, 6), F(poll_long, 1) }, NULL },
        { "pipes", { F(read_soon, 1), F(read_late, 1) }, feed_pipes },
        { "sockets", { F(receive_soon, 1), F(receive_late, 1) }, feed_sockets },
        { "locks", { F(lock_soon, 1), F(lock_late, 1), F(nap_short, 1) }, hold_locks },
        { "semaphores", { F(post_soon, 1), F(post_late, 1) }, post },
        { "files", { F(file_soon, 1), F(nap_short, 1) }, hold_file },
        { "syncs", { F(sync_small, 3), F(sync_large, 1) }, NULL },
        { "children", { F(child_soon, 2), F(child_late, 1) }, NULL },
        { "faults", { F(touch_few, 2), F(touch_many, 1), F(nap_middle, 4) }, NULL },
        { "sums", { F(sum_up, 1), F(square, 1) }, NULL },
};
#define N (sizeof(workers) / sizeof(workers[0]))

static void *work(void *userdata) {
        Worker *worker = userdata;

        (void) prctl(PR_SET_NAME, worker->name);
        (void) pthread_barrier_wait(&begin);
        while (!is_over)
                for (size_t i = 0; i < N_FUNCTIONS && worker->functions[i].run; i++)
                        for (unsigned n = 0; n < worker->functions[i].n; n++)
                                worker->functions[i].run(&worker->functions[i].ns);
        (void) pthread_barrier_wait(&begin);
        /* A thread that is there at both ends has exact time. */
        for (;;)
                (void) pause();
        return NULL;
}

/* Goes on until the process ends, for somebody may still wait for it. */
static void *help(void *userdata) {
        const Worker *worker = userdata;

        (void) prctl(PR_SET_NAME, "partner");
        for (;;)
                worker->partner();
        return NULL;
}

static void start(void *(*run)(void *), Worker *worker) {
        pthread_t thread;
        int r = pthread_create(&thread, NULL, run, worker);

        if (r != 0)
                errx(1, "no thread: %s", strerror(r));
}

static int open_file(const char *path) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0)
                err(1, "%s", path);
        return fd;
}

int main(int argc, char **argv) {
        if (argc != 3)
                errx(2, "usage: mix SECONDS FILE");
        for (size_t i = 0; i < 2; i++) {
                if (pipe(pipes[i]) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]) < 0 ||
                    sem_init(&semaphores[i], 0, 0) < 0)
                        err(1, "pipe");
                locked_files[i] = open_file(argv[2]);
        }
        written_file = open_file(argv[2]);
        (void) pthread_barrier_init(&begin, NULL, N + 1);
        for (size_t i = 0; i < N; i++) {
                start(work, &workers[i]);
                if (workers[i].partner)
                        start(help, &workers[i]);
        }
        take_byte(STDIN_FILENO);
        (void) pthread_barrier_wait(&begin);
        (void) sleep((unsigned) atoi(argv[1]));
        is_over = true;
        (void) pthread_barrier_wait(&begin);
        for (size_t i = 0; i < N; i++)
                for (size_t k = 0; k < N_FUNCTIONS && workers[i].functions[k].run; k++)
                        (void) printf("%s %s %lld\n", workers[i].name, workers[i].functions[k].name,
                                      workers[i].functions[k].ns);
        (void) printf("\n");
        (void) fflush(stdout);
        take_byte(STDIN_FILENO);
        _exit(0);
}
