/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Handlers
 *
 * A server whose threads handle requests, and clients that ask again a moment after each answer.
 *
 *     handlers WHAT COUNT [DIRECTORY]
 *
 * From SIGUSR1 to the process "app" on, which writes its number, its handlers also do WHAT:
 *
 *     lock     hold the one mutex that they have across 400 us
 *     sleep    sleep for 50 ms
 *     sync     write a page to a file of their own in DIRECTORY, and call fdatasync(2)
 *
 * The file COUNT has the number of requests that were answered, in 8 bytes. It ends with standard
 * input.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define N_HANDLERS 8
#define WORK_NS 20000
#define THINK_NS 1500000 /* so that there is no want of CPUs */

static int lines[N_HANDLERS][2]; /* to clients, to handlers */
static uint64_t *n_answered;
static const char *what, *directory;
static volatile sig_atomic_t is_slow;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *text) {
        perror(text);
        exit(EXIT_FAILURE);
}

static void on_signal(int number) {
        (void) number;
        is_slow = 1;
}

static void pause_ns(long ns) {
        const struct timespec time = { .tv_nsec = ns };

        (void) nanosleep(&time, NULL);
}

static void work(void) {
        struct timespec begin, now;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do
                (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < WORK_NS);
}

static void *handle(void *argument) {
        int line = *(const int *) argument, fd = -1;
        static const char page[4096] = "page";
        char request;

        if (directory)
                fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (directory && fd < 0)
                fail(directory);
        for (;;) {
                struct pollfd ready = { .fd = line, .events = POLLIN };

                if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                        fail("poll");
                if (!(ready.revents & POLLIN))
                        continue;
                if (read(line, &request, 1) != 1)
                        return NULL;
                (void) pthread_mutex_lock(&mutex);
                if (is_slow && strcmp(what, "lock") == 0)
                        pause_ns(400000);
                (void) pthread_mutex_unlock(&mutex);
                if (is_slow && strcmp(what, "sleep") == 0)
                        pause_ns(50000000);
                if (is_slow && fd >= 0 &&
                    (pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fdatasync(fd) < 0))
                        fail("fdatasync");
                work();
                (void) __atomic_fetch_add(n_answered, 1, __ATOMIC_RELAXED);
                if (write(line, &request, 1) != 1)
                        return NULL;
        }
}

static void *ask(void *argument) {
        int line = *(const int *) argument;
        char answer = 0;

        while (write(line, &answer, 1) == 1 && read(line, &answer, 1) == 1)
                pause_ns(THINK_NS);
        return NULL;
}

static void serve(void *(*function)(void *), int side) {
        pthread_t threads[N_HANDLERS];

        for (size_t i = 0; i < N_HANDLERS; i++)
                if (pthread_create(&threads[i], NULL, function, &lines[i][side]) != 0)
                        fail("pthread_create");
}

int main(int argc, char *argv[]) {
        const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
        char byte;
        int fd;

        if (argc < 3) {
                (void) fprintf(stderr, "usage: %s WHAT COUNT [DIRECTORY]\n", argv[0]);
                return EXIT_FAILURE;
        }
        what = argv[1];
        directory = argv[3];
        fd = open(argv[2], O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof(*n_answered)) < 0)
                fail(argv[2]);
        n_answered = mmap(NULL, sizeof(*n_answered), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (n_answered == MAP_FAILED)
                fail("mmap");
        for (size_t i = 0; i < N_HANDLERS; i++)
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines[i]) < 0)
                        fail("socketpair");
        if (sigaction(SIGUSR1, &action, NULL) < 0)
                fail("sigaction");
        switch (fork()) {
        case -1:
                fail("fork");
                break;
        case 0:
                (void) prctl(PR_SET_NAME, "client");
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                serve(ask, 0);
                for (;;)
                        (void) pause();
        }
        (void) prctl(PR_SET_NAME, "app");
        serve(handle, 1);
        (void) printf("%d\n", getpid());
        (void) fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR)
                errno = 0;
        return EXIT_SUCCESS;
}
