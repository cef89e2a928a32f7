/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Places
 *
 * Threads of which each is almost always in one known function: five wait there for something, two
 * compute there. A last one, the poker, ends the waits of the others. Each is called like its
 * function.
 *
 *     places
 *
 * Writes a line "TID NAME" for each, and an empty one. Ends when standard input does.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KNOWN __attribute__((noinline, used))
/* Behind a call, so that it is none that the caller's frame is given up for. */
#define STAY() __asm__ volatile("" ::: "memory")

void at_sleep(void);
void at_mutex(void);
void at_pipe(void);
void at_socket(void);
void at_condition(void);
void at_sums(void);
void at_squares(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int fds[2], sockets[2];
static volatile uint64_t result;

static void pause_for(long ns) {
        const struct timespec time = { 0, ns };

        (void) nanosleep(&time, NULL);
}

KNOWN void at_sleep(void) {
        pause_for(30000000);
        STAY();
}

KNOWN void at_mutex(void) {
        (void) pthread_mutex_lock(&mutex);
        (void) pthread_mutex_unlock(&mutex);
        STAY();
}

KNOWN void at_pipe(void) {
        char byte;

        (void) !read(fds[0], &byte, 1);
        STAY();
}

KNOWN void at_socket(void) {
        char byte;

        (void) !recv(sockets[0], &byte, 1, 0);
        STAY();
}

KNOWN void at_condition(void) {
        (void) pthread_mutex_lock(&condition_mutex);
        (void) pthread_cond_wait(&condition, &condition_mutex);
        (void) pthread_mutex_unlock(&condition_mutex);
        STAY();
}

KNOWN void at_sums(void) {
        for (uint64_t i = 0; i < 10000000; i++)
                result += i;
        STAY();
}

KNOWN void at_squares(void) {
        for (uint64_t i = 0; i < 10000000; i++)
                result ^= i * i;
        STAY();
}

/* Ends the waits of the others. */
static void poke(void) {
        (void) pthread_mutex_lock(&mutex);
        pause_for(25000000);
        (void) pthread_mutex_unlock(&mutex);
        (void) !write(fds[1], "", 1);
        (void) !send(sockets[1], "", 1, 0);
        (void) pthread_mutex_lock(&condition_mutex);
        (void) pthread_cond_signal(&condition);
        (void) pthread_mutex_unlock(&condition_mutex);
        pause_for(100000);
}

static const struct {
        const char *name;
        void (*run)(void);
} all[] = {
        { "at_sleep", at_sleep },   { "at_mutex", at_mutex },         { "at_pipe", at_pipe },
        { "at_socket", at_socket }, { "at_sums", at_sums },           { "at_squares", at_squares },
        { "poker", poke },          { "at_condition", at_condition },
};
#define N (sizeof(all) / sizeof(all[0]))

static int tids[N];

static void *run(void *userdata) {
        size_t i = (size_t) (uintptr_t) userdata;

        (void) prctl(PR_SET_NAME, all[i].name);
        __atomic_store_n(&tids[i], (int) syscall(SYS_gettid), __ATOMIC_RELEASE);
        for (;;)
                all[i].run();
        return NULL;
}

int main(void) {
        pthread_t thread;
        char byte;

        if (pipe(fds) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
                return 1;
        for (size_t i = 0; i < N; i++)
                if (pthread_create(&thread, NULL, run, (void *) (uintptr_t) i) != 0)
                        return 1;
        for (size_t i = 0; i < N; i++) {
                int tid;

                while ((tid = __atomic_load_n(&tids[i], __ATOMIC_ACQUIRE)) == 0)
                        (void) usleep(1000);
                (void) printf("%d %s\n", tid, all[i].name);
        }
        (void) printf("\n");
        (void) fflush(stdout);
        (void) !read(STDIN_FILENO, &byte, 1);
        _exit(0);
}
