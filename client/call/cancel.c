/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/cancel.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"

static volatile sig_atomic_t n_signals;
/* 1 if the first signal only asked the call to end, else 0. */
static volatile sig_atomic_t n_spared;
static bool stop_told;
static volatile sig_atomic_t command;       /* which gets each SIGTERM; 0: there is none */
static volatile uint64_t passed_on_mono_ns; /* when it last got one; 0: never */

/* The rest of a signal to a whole process group may come so much later. */
#define SAME_SIGNAL_NS NSEC_PER_SEC

static void on_signal(int number) {
        int error = errno;

        if (command > 0) {
                (void) kill(command, number);
                passed_on_mono_ns = clock_now_ns(CLOCK_MONOTONIC);
        } else if (passed_on_mono_ns == 0 ||
                   clock_now_ns(CLOCK_MONOTONIC) - passed_on_mono_ns > SAME_SIGNAL_NS) {
                n_signals = n_signals + 1;
                if (n_signals > n_spared)
                        (void) signal(number, SIG_DFL);
        }
        errno = error;
}

void cancel_open(void) {
        /* No SA_RESTART: a write to a pipe that nobody reads must end too. */
        const struct sigaction action = { .sa_handler = on_signal };

        (void) sigaction(SIGINT, &action, NULL);
        (void) sigaction(SIGTERM, &action, NULL);
}

bool cancel_requested(void) {
        return n_signals > n_spared;
}

void cancel_begin_stoppable(void) {
        if (n_signals == 0)
                n_spared = 1;
}

/* The caller has been told of this signal; the next one cancels. */
void cancel_end_stoppable(void) {
        n_spared = stop_told;
}

/*
 * A SIGTERM waits until it is known whom to pass it on to. A SIGINT from the terminal must not: it
 * comes either before the fork, and is counted in both processes, or reaches the child as well.
 */
int cancel_fork_command(pid_t *ret) {
        sigset_t blocked, before;
        int r = 0;

        (void) sigemptyset(&blocked);
        (void) sigaddset(&blocked, SIGTERM);
        if (sigprocmask(SIG_BLOCK, &blocked, &before) < 0)
                return -errno;
        *ret = cancel_requested() ? -1 : fork();
        if (*ret == 0) {
                (void) signal(SIGINT, SIG_DFL);
                (void) signal(SIGQUIT, SIG_DFL);
                (void) signal(SIGTERM, SIG_DFL);
        } else if (*ret > 0) {
                (void) signal(SIGINT, SIG_IGN);
                (void) signal(SIGQUIT, SIG_IGN);
                command = *ret;
        } else {
                r = cancel_requested() ? -ECANCELED : -errno;
        }
        (void) sigprocmask(SIG_SETMASK, &before, NULL);
        return r;
}

void cancel_end_command(void) {
        command = 0;
        n_signals = n_spared = 0;
        stop_told = false;
        (void) signal(SIGQUIT, SIG_DFL);
        cancel_open();
}

uint64_t mono_deadline_ns(uint64_t timeout_ns) {
        return timeout_ns == 0 ? CANCEL_NO_DEADLINE
                               : number_add_saturating(clock_now_ns(CLOCK_MONOTONIC), timeout_ns);
}

int cancel_wait(int fd, short events, uint64_t deadline_mono_ns) {
        return cancel_wait_either(fd, events, -EBADF, deadline_mono_ns);
}

int cancel_wait_either(int fd, short events, int watched_fd, uint64_t deadline_mono_ns) {
        struct pollfd polled[] = { { .fd = fd, .events = events },
                                   { .fd = watched_fd, .events = POLLIN } };
        sigset_t blocked, open_mask;
        int r;

        (void) sigemptyset(&blocked);
        (void) sigaddset(&blocked, SIGINT);
        (void) sigaddset(&blocked, SIGTERM);

        /* Block the signals, so that none arrives between the check of the flag and the wait. */
        if (sigprocmask(SIG_BLOCK, &blocked, &open_mask) < 0)
                return -errno;
        do {
                uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
                struct timespec left =
                        clock_timespec(deadline_mono_ns > now_ns ? deadline_mono_ns - now_ns : 0);

                if (cancel_requested()) {
                        r = CANCEL_E_CANCELLED;
                } else if (n_signals > 0 && !stop_told) {
                        stop_told = true;
                        r = CANCEL_E_STOP;
                } else {
                        r = ppoll(polled, ELEMENTSOF(polled),
                                  deadline_mono_ns == CANCEL_NO_DEADLINE ? NULL : &left,
                                  &open_mask);
                        r = r < 0                    ? -errno
                            : r == 0                 ? CANCEL_E_TIMEOUT
                            : polled[1].revents != 0 ? CANCEL_E_WATCHED
                                                     : CANCEL_OK;
                }
        } while (r == -EINTR); /* a signal came: check the flag again */
        (void) sigprocmask(SIG_SETMASK, &open_mask, NULL);
        return r;
}
