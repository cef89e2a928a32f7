/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LogLimit
 *
 * How often something that peers can repeat is logged: so many lines of each user in a minute, so
 * that nobody fills the journal, and nobody keeps the lines of others out of it.
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
 * Whether to log a line about @uid now. *ret_n_suppressed is how many were kept back before this
 * one, to be said in the line, and is only not 0 on the first of a new interval.
 */
bool log_limit_pass(LogLimit *limit, uid_t uid, uint64_t now_mono_ns, unsigned *ret_n_suppressed);

#define LOG_SUPPRESSED_BYTES 48

/* What to end such a line with: " (7 others were not logged)", or "" for none. Returns @ret. */
const char *log_suppressed(unsigned n, char ret[static LOG_SUPPRESSED_BYTES]);
