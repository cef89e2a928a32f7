/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cancel
 *
 * SIGINT and SIGTERM as a question to ask: the first cancels what is under way, a second one kills.
 * While a call can be asked to end and answer with what there is, the first signal asks for that
 * and the second cancels. The counts are all that a signal handler can reach, and so the one state
 * of the process.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"

/* From here on the two signals are noted instead of killing. */
void cancel_open(void);
bool cancel_requested(void);

/* Between the two, the first signal is CANCEL_E_STOP, told once, and no request to cancel. */
void cancel_begin_stoppable(void);
void cancel_end_stoppable(void);

enum {
        CANCEL_OK,
        CANCEL_E_TIMEOUT,
        CANCEL_E_CANCELLED,
        CANCEL_E_STOP,
};

#define CANCEL_NO_DEADLINE UINT64_MAX

/*
 * Waits for @events on @fd until @deadline_mono_ns. A signal that came before or comes while
 * waiting is never missed. 0, CANCEL_E_TIMEOUT, CANCEL_E_CANCELLED, CANCEL_E_STOP, -errno.
 */
_must_check_ int cancel_wait(int fd, short events, uint64_t deadline_mono_ns);

uint64_t mono_now_ns(void);
/* @timeout_ns from now on; 0: CANCEL_NO_DEADLINE. */
uint64_t mono_deadline_ns(uint64_t timeout_ns);
