/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Output
 *
 * A file the user asked for: it appears whole under its name or not at all. It is written beside
 * its place under a dot-name, synced, and moved there; what is not a regular file (a pipe,
 * /dev/null) is written into as it is. Only the user may read it, because it tells of every
 * process.
 */

#include "base/cleanup.h"
#include "base/macro.h"

typedef enum OutputMode {
        OUTPUT_REPLACE,   /* what stands there is replaced in the end */
        OUTPUT_EXCLUSIVE, /* nothing may stand there, now or in the end */
} OutputMode;

typedef struct Output Output;

/* All functions that return int: 0, or an exit status with the sentence said. */

/* @path "-" is stdout, which must not be a terminal. @path is borrowed. */
int output_open(const char *path, OutputMode mode, Output **ret);
int output_fd(const Output *output);
/* Appends all of the file @fd, whatever its position. */
int output_copy(Output *output, int fd);
/* The file is complete: from here on it is there. */
int output_publish(Output *output);
/* Removes what was not published. */
Output *output_free(Output *output);
DEFINE_CLEANUP(Output *, output_free);
