/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Child
 *
 * Programs that we run. One of them is a ctprofd of our own at the other end of a socket pair, by
 * varlink's "exec:" convention: the socket is its descriptor 3, announced in LISTEN_FDS, LISTEN_PID
 * and LISTEN_FDNAMES. It runs with exactly our privileges and ends when the socket closes;
 * child_end() makes sure of that.
 */

#include <stdbool.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/macro.h"

/* Becomes the program in the new process, and returns only an errno. */
typedef int (*ChildBecome)(void *userdata);

/*
 * Runs a program in a new process. @do_fork is as cancel_fork_command(); NULL: fork(2). 0 once the
 * program runs, or -errno. *ret_pid has to be waited for in both cases, unless it is 0.
 */
_must_check_ int child_run(int (*do_fork)(pid_t *ret), ChildBecome become, void *userdata,
                           pid_t *ret_pid);

typedef struct Child {
        pid_t pid;  /* 0: none, or reaped */
        int status; /* of waitpid(), once it is reaped */
} Child;

/*
 * Runs the ctprofd at @path with @arguments (ended by NULL, the first is the program's name).
 * *ret_fd is our end of the socket. Returns -errno if the program cannot be executed.
 */
_must_check_ int child_start(Child *child, const char *path, const char *const arguments[],
                             int *ret_fd);
/* Waits a few seconds for the process to end, then kills it. */
void child_end(Child *child);

#define CHILD_FATE_BYTES 64
/* After child_end(): "exited with status 1", "was killed by SIGSEGV". */
void child_format_fate(const Child *child, char ret_text[static CHILD_FATE_BYTES]);

enum {
        SERVER_PROGRAM_OK,
        SERVER_PROGRAM_E_NONE, /* there is none; *ret is the last place that was searched */
};

/*
 * The path of the ctprofd that belongs to this ctprofctl, as a string in @ret: the one that
 * @override, $CTPROFD, names, else the one beside our executable in @own_directory (without a slash
 * at its end), in a build tree or installed, else the one of the configured directory.
 */
_must_check_ int server_program_find(const char *override, const char *own_directory, Buffer *ret);
