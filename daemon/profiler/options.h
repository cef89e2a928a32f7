/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Options
 *
 * The command line of ctprofd as a struct. A wrong one costs one sentence that names the culprit.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

#define OPTIONS_COMPLAINT_BYTES 256

typedef enum OptionsAction {
        OPTIONS_SERVE,
        OPTIONS_HELP,
        OPTIONS_VERSION,
        OPTIONS_JOB, /* what the daemon starts itself as */
} OptionsAction;

typedef struct Options {
        OptionsAction action;
        const char *job;         /* kind of the job */
        const char *spool_path;  /* NULL: by how it was started */
        const char *listen_path; /* NULL: a socket comes from whoever starts it */
        bool has_max_bytes, has_keep_free_bytes, has_max_age;
        uint64_t max_bytes, keep_free_bytes, max_age_ns; /* 0: no bound */
} Options;

enum {
        OPTIONS_OK,
        OPTIONS_E_WRONG, /* the complaint tells what */
};

/* Texts stay those of @argv. */
_must_check_ int options_parse(int argc, char *argv[], Options *ret,
                               char ret_complaint[static OPTIONS_COMPLAINT_BYTES]);
const char *options_help(void);

/* "1048576", "512M", "4G": bytes, with K, M, G, T for powers of 1024. */
bool options_parse_size(Span text, uint64_t *ret_bytes);
/* "90", "90s", "15min", "12h", "30d", "2w": seconds when nothing is said. */
bool options_parse_time(Span text, uint64_t *ret_ns);
