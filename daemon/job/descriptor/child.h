/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Child
 *
 * Children that begin with the parent's own descriptor table, and how the end of a child is
 * noticed. A copy of the table, as fork(2) makes it, would hold every descriptor that peers sent.
 * Closing the copies, at execve(2) or exit, asks the file system behind each of them, which may
 * never answer.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/macro.h"

/*
 * As fork(2), with one descriptor table for both: what either of them opens or closes is opened or
 * closed in both. The child may only make system calls and must end with _exit(2), or, when it
 * @executes, with a program: the parent sleeps until that has happened.
 */
_must_check_ pid_t child_fork(bool executes);

/* The kernel copies descriptor tables in whole words of the bitmap of open descriptors. */
#define CHILD_TABLE_GRAIN 64

/*
 * In the child: gives it a table of its own that holds only the descriptors below @n_kept, a
 * multiple of CHILD_TABLE_GRAIN. The others are not copied, so they need not be closed.
 */
_must_check_ int child_split_table(int n_kept);

/*
 * Like sd_event_add_child() for WEXITED, which requires that SIGCHLD is blocked. It works for
 * traced children too: a child that is traced, for example by a leak checker at its exit, has ended
 * some time before it can be reaped. *ret is owned on success and unchanged otherwise. -errno.
 */
_must_check_ int child_exit_watch(sd_event *event, sd_event_source **ret, pid_t pid,
                                  sd_event_child_handler_t on_exit, void *userdata);

/*
 * Reaps @pid if it has ended. Also true when there is no such child (any more); then the status is
 * all zeros, so it neither exited nor was killed.
 */
bool child_exit_take(pid_t pid, siginfo_t *ret_status);

/*
 * The same, but waits for at most *timeout_ms and subtracts the time it took, so that one bound
 * holds for several children in a row.
 */
bool child_exit_await(pid_t pid, siginfo_t *ret_status, int *timeout_ms);
