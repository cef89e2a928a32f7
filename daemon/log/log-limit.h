/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LogLimit
 *
 * Bounds how often something that peers can repeat is logged: each user has a number of lines a
 * minute. One user can neither fill the journal nor keep the lines of others out of it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "wire/limits.h"

typedef struct LogAllowance {
        uid_t uid;
        uint64_t begin_ns;
        unsigned n_passed;
        unsigned n_suppressed;
} LogAllowance;

typedef struct LogLimit {
        uint64_t interval_ns;
        unsigned burst;                         /* lines of one user in an interval */
        LogAllowance users[LIMIT_LOGGED_USERS]; /* further users share one allowance */
        LogAllowance others;
} LogLimit;

/*
 * Whether to log a line about @uid now. *ret_n_suppressed is the number of lines that were
 * suppressed since the last interval; it is not 0 only for the first line of an interval, which
 * should mention it.
 */
bool log_limit_pass(LogLimit *limit, uid_t uid, uint64_t now_mono_ns, unsigned *ret_n_suppressed);

#define LOG_SUPPRESSED_BYTES 48

/* The end of such a line: " (7 others were not logged)", or "". Returns @ret. */
const char *log_suppressed(unsigned n, char ret[static LOG_SUPPRESSED_BYTES]);
