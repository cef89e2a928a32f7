/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/cancel.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/number.h"

static volatile sig_atomic_t n_signals;
/* 1 if the first signal only asked the call to end, else 0. */
static volatile sig_atomic_t n_spared;
static bool stop_told;

static void on_signal(int number) {
        n_signals = n_signals + 1;
        if (n_signals > n_spared)
                (void) signal(number, SIG_DFL);
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

static uint64_t now_ns(clockid_t clock) {
        struct timespec now = {};

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

uint64_t mono_now_ns(void) {
        return now_ns(CLOCK_MONOTONIC);
}

uint64_t realtime_now_ns(void) {
        return now_ns(CLOCK_REALTIME);
}

uint64_t mono_deadline_ns(uint64_t timeout_ns) {
        return timeout_ns == 0 ? CANCEL_NO_DEADLINE
                               : number_add_saturating(mono_now_ns(), timeout_ns);
}

static int wait_masked(int fd, short events, uint64_t deadline_mono_ns, const sigset_t *open_mask) {
        struct pollfd polled = { .fd = fd, .events = events };
        uint64_t now_ns = mono_now_ns(), left_ns = 0;
        struct timespec left;
        int n;

        if (cancel_requested())
                return CANCEL_E_CANCELLED;
        if (n_signals > 0 && !stop_told) {
                stop_told = true;
                return CANCEL_E_STOP;
        }
        if (deadline_mono_ns != CANCEL_NO_DEADLINE && deadline_mono_ns > now_ns)
                left_ns = deadline_mono_ns - now_ns;
        left = (struct timespec){ .tv_sec = (time_t) (left_ns / NSEC_PER_SEC),
                                  .tv_nsec = (long) (left_ns % NSEC_PER_SEC) };
        n = ppoll(&polled, 1, deadline_mono_ns == CANCEL_NO_DEADLINE ? NULL : &left, open_mask);
        if (n > 0)
                return 0;
        if (n == 0)
                return CANCEL_E_TIMEOUT;
        if (errno != EINTR)
                return -errno;
        return -EAGAIN;
}

int cancel_wait(int fd, short events, uint64_t deadline_mono_ns) {
        sigset_t blocked, open_mask;
        int r;

        (void) sigemptyset(&blocked);
        (void) sigaddset(&blocked, SIGINT);
        (void) sigaddset(&blocked, SIGTERM);

        /* Block the signals, so that none arrives between the check of the flag and the wait. */
        if (sigprocmask(SIG_BLOCK, &blocked, &open_mask) < 0)
                return -errno;
        do
                r = wait_masked(fd, events, deadline_mono_ns, &open_mask);
        while (r == -EAGAIN); /* interrupted by a signal: check the flag again */
        (void) sigprocmask(SIG_SETMASK, &open_mask, NULL);
        return r;
}
