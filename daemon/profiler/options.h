/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Options
 *
 * The command line of ctprofd as a struct. A wrong one is refused with a sentence that names the
 * wrong word.
 */

#include "base/macro.h"
#include "config/setting-list.h"

#define OPTIONS_COMPLAINT_BYTES 256

typedef enum OptionsAction {
        OPTIONS_SERVE,
        OPTIONS_HELP,
        OPTIONS_VERSION,
        OPTIONS_DUMP_CONFIG,
        OPTIONS_JOB, /* started by the daemon to serve one call */
} OptionsAction;

typedef struct Options {
        OptionsAction action;
        const char *job;         /* OPTIONS_JOB: the kind of job */
        const char *spool_path;  /* NULL: the default, which depends on how it was started */
        const char *listen_path; /* NULL: it was started with a socket */
        const char *config_path; /* NULL: the directories of the administrator */
        const char *settings[_SETTING_MAX]; /* they override the files; NULL: not given */
} Options;

enum {
        OPTIONS_OK,
        OPTIONS_E_WRONG, /* the complaint says what is wrong */
};

/* The texts in *ret point into @argv. */
_must_check_ int options_parse(int argc, char *argv[], Options *ret,
                               char ret_complaint[static OPTIONS_COMPLAINT_BYTES]);
const char *options_help(void);
