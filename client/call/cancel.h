/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cancel
 *
 * SIGINT and SIGTERM set a flag that the program checks: the first signal cancels the call, a
 * second one kills the program. A call that can be asked to end early and to answer with what there
 * is gets that request with the first signal; the second cancels. While a command runs for which we
 * wait, signals are for that command. The counts of signals and its number are the only global
 * state of the process, because a signal handler can reach nothing else.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

/* From here on the two signals are counted instead of killing the program. */
void cancel_open(void);
bool cancel_requested(void);

/*
 * Between these two calls the first signal is reported once, as CANCEL_E_STOP, and does not cancel.
 */
void cancel_begin_stoppable(void);
void cancel_end_stoppable(void);

/*
 * fork(2) for a command that is waited for. From here to cancel_end_command() each SIGTERM is
 * passed on to it, and SIGINT and SIGQUIT, which a terminal sends to both, are for it alone. In the
 * child, where *ret is 0, signals do what they do by default, and cancel_requested() tells whether
 * one came before: then it must not become the command. -ECANCELED, -errno.
 */
_must_check_ int cancel_fork_command(pid_t *ret);
/*
 * It has ended; call this before it is reaped, after which its number may be another's. From here
 * on a signal cancels again, but not what is left of one that was passed on: timeout(1) sends it to
 * the process and then to its group.
 */
void cancel_end_command(void);

enum {
        CANCEL_OK,
        CANCEL_E_TIMEOUT,
        CANCEL_E_CANCELLED,
        CANCEL_E_STOP,
        CANCEL_E_WATCHED, /* the other descriptor became readable */
};

#define CANCEL_NO_DEADLINE UINT64_MAX

/*
 * Waits for @events on @fd until @deadline_mono_ns. A signal that came before or comes while
 * waiting is never missed. 0, CANCEL_E_TIMEOUT, CANCEL_E_CANCELLED, CANCEL_E_STOP, -errno.
 */
_must_check_ int cancel_wait(int fd, short events, uint64_t deadline_mono_ns);
/* The same until @watched_fd is readable: CANCEL_E_WATCHED, also when both are. */
_must_check_ int cancel_wait_either(int fd, short events, int watched_fd,
                                    uint64_t deadline_mono_ns);

/* @timeout_ns from now on; 0: CANCEL_NO_DEADLINE. */
uint64_t mono_deadline_ns(uint64_t timeout_ns);
