/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Ctl
 *
 * A run of ctprofctl against a daemon that answers by script: what it was asked, what came out on
 * stdout and stderr, and the exit status. The run is a process of its own, so that it can be a
 * different one each time and leaks are found at its end.
 */

#include <stdbool.h>
#include <stddef.h>
#include "temporary.h"

/* One connection: what is answered to whatever is asked. */
typedef struct Exchange {
        const char *replies; /* frames, each ended by a NUL */
        size_t n_replies;    /* bytes of them */
        const char *file;    /* content of a descriptor sent with the last; NULL: none */
        /* Before the last reply the client gets this signal, unless it is 0. */
        int signal;
        bool waits; /* before the last reply the next exchange takes place */
} Exchange;

/* The frames of a string literal, whose own NUL ends the last. */
#define REPLIES(literal) .replies = (literal), .n_replies = sizeof(literal)

#define CTL_OUTPUT_BYTES (256 * 1024)

typedef struct Ctl {
        Temporary temporary;
        const Exchange *exchanges;
        size_t n_exchanges;
        const char *zone;  /* the user's time zone; NULL: UTC */
        const char *pager; /* of the user; NULL: none */
        int status;
        char out[CTL_OUTPUT_BYTES];
        char err[CTL_OUTPUT_BYTES];
        char asked[CTL_OUTPUT_BYTES]; /* a line per call, "+N" behind it for N descriptors */
} Ctl;

void ctl_init(Ctl *ctl, const Exchange *exchanges, size_t n_exchanges);
void ctl_done(Ctl *ctl);

/*
 * Runs "ctprofctl WORDS..." (ended by NULL) in the temporary directory; fills in what came of it.
 */
void ctl_run(Ctl *ctl, const char *const words[]);
/* The same on a terminal of @columns; all that it shows is in out. */
void ctl_run_terminal(Ctl *ctl, const char *const words[], unsigned short columns);

#define CTL_RUN(ctl, ...) ctl_run((ctl), (const char *const[]){ __VA_ARGS__, NULL })
#define CTL_RUN_TERMINAL(ctl, columns, ...) \
        ctl_run_terminal((ctl), (const char *const[]){ __VA_ARGS__, NULL }, (columns))
