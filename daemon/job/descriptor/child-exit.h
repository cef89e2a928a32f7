/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ChildExit
 *
 * The end of a child, as an event or waited for. It works for traced children too: a child that is
 * traced, for example by a leak checker at its exit, has ended some time before it can be reaped.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/macro.h"

/* Blocks SIGCHLD for good, as sd_event_add_child() requires. -errno. */
_must_check_ int child_exit_prepare(void);
/* Like sd_event_add_child() for WEXITED; *ret is owned on success, NULL otherwise. -errno. */
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
