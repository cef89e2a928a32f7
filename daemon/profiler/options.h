/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Options
 *
 * The command line of ctprofd as a struct. A wrong one costs one sentence that names the culprit.
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
        const char *job;                    /* kind of the job */
        const char *spool_path;             /* NULL: by how it was started */
        const char *listen_path;            /* NULL: it inherits a socket */
        const char *config_path;            /* NULL: where an administrator puts it */
        const char *settings[_SETTING_MAX]; /* over those of the files; NULL: nothing said */
} Options;

enum {
        OPTIONS_OK,
        OPTIONS_E_WRONG, /* the complaint tells what */
};

/* Texts stay those of @argv. */
_must_check_ int options_parse(int argc, char *argv[], Options *ret,
                               char ret_complaint[static OPTIONS_COMPLAINT_BYTES]);
const char *options_help(void);
