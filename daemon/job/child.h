/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Child
 *
 * Between fork(2) and execve(2): what a job starts with. Only the socket is open beside the three
 * standard descriptors, signals are as after boot, limits are set, and the child dies with its
 * parent.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

typedef struct ChildSetup {
        int executable_fd; /* close-on-exec, above the standard descriptors and 3 */
        int socket_fd;     /* becomes descriptor 3 */
        int n_descriptors; /* that the child gets from the parent: those two are among them */
        const char *const *arguments;
        uint64_t max_data_bytes;
        uint64_t max_file_bytes; /* 0: no bound */
} ChildSetup;

/*
 * The environment of the parent without what speaks of its own sockets and watchdog; see child.c.
 */
_must_check_ int child_environment_new(char ***ret);
char **child_environment_free(char **environment);

_must_check_ int child_start(const ChildSetup *setup, char *const *environment, pid_t *ret_pid);
