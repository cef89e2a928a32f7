/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Output
 *
 * A file that the user asked for. It appears under its name when it is complete, or not at all: it
 * is written under a dot-name in the same directory, synced and renamed. A target that is no
 * regular file (a pipe, /dev/null) is written in place. A symbolic link is not followed: in /tmp
 * anybody may have put it there. Only the user may read the file, because it describes every
 * process of the host, unless it is made for another service.
 */

#include <stdio.h>
#include "base/cleanup.h"
#include "base/macro.h"

typedef enum OutputMode {
        OUTPUT_REPLACE,   /* an existing file is replaced in the end */
        OUTPUT_PUBLIC,    /* likewise, and everybody may read it */
        OUTPUT_EXCLUSIVE, /* the file must not exist, now or in the end */
} OutputMode;

typedef struct Output Output;

/* Functions that return int return 0, or an exit status after printing a sentence. */

/* @path "-" is stdout, which must not be a terminal. @path is borrowed. */
int output_open(const char *path, OutputMode mode, Output **ret);
int output_fd(const Output *output);
/* *ret, borrowed, writes into it. @what: what it writes, for the complaint of output_publish(). */
int output_stream(Output *output, const char *what, FILE **ret);
/* Appends the file @fd, regardless of its offset and up to the length it has now. */
int output_copy(Output *output, int fd);
/* The file is complete: makes it visible under its name. */
int output_publish(Output *output);
/* Removes a file that was not published. */
Output *output_free(Output *output);
DEFINE_CLEANUP(Output *, output_free);
