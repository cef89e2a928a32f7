/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Heap witness
 *
 * Threads that notice when they are disturbed.
 *
 *     heap-witness PAUSE_US
 *
 * One never leaves its processor; one waits in epoll_wait(), one in sigwaitinfo(), one for signals
 * that it handles; some wait for nothing. Each has allocated something, so that its counters are
 * there to be read. Writes one line "PID SPINNING" with the thread that spins when they all do what
 * they do. For each line of input, a number, a child queues so many signals, one each PAUSE_US, and
 * some time after the last it writes one line:
 *
 *     GOT MISPLACED EPOLL_WOKEN SIGWAIT_WOKEN LONGEST_NS
 *
 * signals that were handled, and those that came at another place than they were queued; how often
 * the two others were woken; the longest time in which the one that spins did not run. All since
 * the last line. It ends with its standard input.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_WAITING 16
#define QUEUED (SIGRTMIN + 1)
#define NEVER_SENT (SIGRTMIN + 2)
#define SETTLE_US 200000

static _Atomic unsigned n_got, n_misplaced, n_epoll_woken, n_sigwait_woken, n_ready;
static _Atomic int n_expected;
static _Atomic uint64_t longest_ns;
static _Atomic pid_t spinning;

static void fail(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void sleep_us(unsigned us) {
        struct timespec left = { us / 1000000, us % 1000000 * 1000 };

        while (nanosleep(&left, &left) < 0 && errno == EINTR)
                continue;
}

static uint64_t now_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static void be_ready(void) {
        void *volatile memory = malloc(1000);

        free(memory);
        atomic_fetch_add(&n_ready, 1);
}

static void on_signal(int number, siginfo_t *info, void *context) {
        if (info->si_value.sival_int != atomic_fetch_add(&n_expected, 1)) {
                atomic_fetch_add(&n_misplaced, 1);
                atomic_store(&n_expected, info->si_value.sival_int + 1);
        }
        atomic_fetch_add(&n_got, 1);
}

/* those who wait */

_Noreturn static void *spin(void *userdata) {
        uint64_t last_ns;

        atomic_store(&spinning, gettid());
        be_ready();
        last_ns = now_ns();
        for (;;) {
                uint64_t this_ns = now_ns(), longest = atomic_load(&longest_ns);

                while (this_ns - last_ns > longest &&
                       !atomic_compare_exchange_weak(&longest_ns, &longest, this_ns - last_ns))
                        ;
                last_ns = this_ns;
        }
}

_Noreturn static void *wait_for_events(void *userdata) {
        struct epoll_event event;
        int fd = epoll_create1(EPOLL_CLOEXEC);

        if (fd < 0)
                fail("epoll_create1");
        be_ready();
        for (;;) {
                (void) epoll_wait(fd, &event, 1, -1);
                atomic_fetch_add(&n_epoll_woken, 1);
        }
}

_Noreturn static void *wait_for_signal(void *userdata) {
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, NEVER_SENT);
        be_ready();
        for (;;) {
                (void) sigwaitinfo(&set, NULL);
                atomic_fetch_add(&n_sigwait_woken, 1);
        }
}

_Noreturn static void *wait_for_nothing(void *userdata) {
        be_ready();
        for (;;)
                (void) pause();
}

_Noreturn static void *handle_signals(void *userdata) {
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, QUEUED);
        (void) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        wait_for_nothing(userdata);
}

static void start(void *(*function)(void *) ) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, function, NULL) != 0)
                fail("pthread_create");
}

/* rounds */

static void send_signals(unsigned n, unsigned pause_us) {
        pid_t receiver = getppid();

        for (unsigned i = 0; i < n; i++) {
                while (sigqueue(receiver, QUEUED, (union sigval){ .sival_int = (int) i }) < 0) {
                        if (errno != EAGAIN)
                                fail("sigqueue");
                        sleep_us(1000);
                }
                if (pause_us > 0)
                        sleep_us(pause_us);
        }
}

static void play_round(unsigned n, unsigned pause_us) {
        int status = 0;
        pid_t pid;

        atomic_store(&n_expected, 0);
        pid = fork();
        if (pid < 0)
                fail("fork");
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                send_signals(n, pause_us);
                _exit(EXIT_SUCCESS);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        if (status != 0)
                exit(EXIT_FAILURE);
        sleep_us(SETTLE_US);
        printf("%u %u %u %u %" PRIu64 "\n", atomic_exchange(&n_got, 0),
               atomic_exchange(&n_misplaced, 0), atomic_exchange(&n_epoll_woken, 0),
               atomic_exchange(&n_sigwait_woken, 0), atomic_exchange(&longest_ns, 0));
        if (fflush(stdout) != 0)
                exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
        struct sigaction action = { .sa_sigaction = on_signal,
                                    .sa_flags = SA_SIGINFO | SA_RESTART };
        unsigned n_threads = 4 + N_WAITING;
        sigset_t set;
        char line[16];

        if (argc != 2) {
                fprintf(stderr, "usage: heap-witness PAUSE_US\n");
                return 2;
        }
        (void) sigemptyset(&set);
        (void) sigaddset(&set, QUEUED);
        (void) sigaddset(&set, NEVER_SENT);
        if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0 || sigaction(QUEUED, &action, NULL) < 0)
                fail("signals");
        start(spin);
        start(wait_for_events);
        start(wait_for_signal);
        start(handle_signals);
        for (unsigned i = 0; i < N_WAITING; i++)
                start(wait_for_nothing);
        while (atomic_load(&n_ready) < n_threads)
                sleep_us(1000);
        sleep_us(SETTLE_US);
        printf("%d %d\n", (int) getpid(), (int) atomic_load(&spinning));
        (void) fflush(stdout);
        while (fgets(line, sizeof(line), stdin))
                play_round((unsigned) atoi(line), (unsigned) atoi(argv[1]));
        return EXIT_SUCCESS;
}
