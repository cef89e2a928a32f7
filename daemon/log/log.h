/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Log
 *
 * One line for each event: in the journal, with fields, when stderr is its stream, else on stderr.
 * Text from outside enters a line only through log_quote(), and lines that a peer can cause again
 * and again are limited by a LogLimit. The log level is the only global state of the process.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <syslog.h>
#include "base/macro.h"
#include "base/span.h"
#include "wire/limits.h"

/* life */

/*
 * Level from $SYSTEMD_LOG_LEVEL (a word or digit as in systemd), else @default_level (LOG_INFO
 * ...).
 */
void log_open(int default_level);
/* LOG_ERR for "err", "error" and "3"; -1 when @text is no level. */
int log_level_parse(Span text);

/* lines */

#define LOG_NO_UID ((uid_t) -1) /* which is no user */

/* Fields that an administrator can search with journalctl; members that do not apply stay empty. */
typedef struct LogEvent {
        const char *message_id; /* 32 hex digits */
        uid_t uid;              /* LOG_NO_UID: not caused by a user */
        const char *method;
        const char *snapshot;     /* CTPROF_SNAPSHOT=; bytes from outside are fine in a field */
        const char *old_snapshot; /* CTPROF_OLD_SNAPSHOT=: the name it had */
} LogEvent;

/* @error: -errno, whose text ends the line; 0 for none. @event may be NULL. */
#define log_error(error, ...) log_write(LOG_ERR, (error), NULL, __VA_ARGS__)
#define log_warning(error, ...) log_write(LOG_WARNING, (error), NULL, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, 0, NULL, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, 0, NULL, __VA_ARGS__)
void log_write(int level, int error, const LogEvent *event, const char *format, ...) _printf_(4, 5);

/* text from outside */

#define LOG_QUOTE_BYTES 256

/*
 * @text in double quotes, printable ASCII only, the rest as \xNN, cut with "..." where it is too
 * long. Returns @ret.
 */
const char *log_quote(Span text, char ret[static LOG_QUOTE_BYTES]);

/* limits */

/*
 * Bounds how often something that peers can repeat is logged: each user has a number of lines a
 * minute. One user can neither fill the journal nor keep the lines of others out of it.
 */

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
 * True when a line about @uid may be logged now. *ret_n_suppressed is the number of lines that were
 * suppressed since the last interval; it is not 0 only for the first line of an interval, which
 * should mention it.
 */
bool log_limit_pass(LogLimit *limit, uid_t uid, uint64_t now_mono_ns, unsigned *ret_n_suppressed);

#define LOG_SUPPRESSED_BYTES 48

/* The end of such a line: " (7 others were not logged)", or "". Returns @ret. */
const char *log_suppressed(unsigned n, char ret[static LOG_SUPPRESSED_BYTES]);
