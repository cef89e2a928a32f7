/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Child
 *
 * A ctprofd of our own at the other end of a socket pair, by varlink's "exec:" convention: the
 * socket is its descriptor 3, announced in LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES. It runs with
 * exactly our privileges and ends when the socket closes; child_end() makes sure of that.
 */

#include <stdbool.h>
#include <sys/types.h>
#include "base/macro.h"

typedef struct Child {
        pid_t pid;  /* 0: none, or reaped */
        int status; /* of waitpid(), once it is reaped */
} Child;

/*
 * Runs @path with @arguments (ended by NULL, the first is the program's name). *ret_fd is our end
 * of the socket. Returns -errno if the program cannot be executed.
 */
_must_check_ int child_start(Child *child, const char *path, const char *const arguments[],
                             int *ret_fd);
/* Waits a few seconds for the process to end, then kills it. */
void child_end(Child *child);

#define CHILD_FATE_BYTES 64
/* After child_end(): "exited with status 1", "was killed by SIGSEGV". */
void child_format_fate(const Child *child, char ret_text[static CHILD_FATE_BYTES]);
