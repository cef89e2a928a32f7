/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ChildExit
 *
 * The end of a child as an event that comes also when the child is traced; and without events. One
 * that is traced, by a leak checker at its exit, say, has ended some time before it can be reaped.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/macro.h"

/* Blocks SIGCHLD for good, which is what sd_event_add_child() wants. -errno. */
_must_check_ int child_exit_prepare(void);
/* Like sd_event_add_child() for WEXITED; *ret is owned on success, NULL otherwise. -errno. */
_must_check_ int child_exit_watch(sd_event *event, sd_event_source **ret, pid_t pid,
                                  sd_event_child_handler_t on_exit, void *userdata);

/*
 * Reaps @pid if it has ended; true as well when there is no such child (any more), whose status is
 * all zeros: it neither exited nor was killed.
 */
bool child_exit_take(pid_t pid, siginfo_t *ret_status);

/*
 * The same, and waits for it, but not longer than *timeout_ms, of which what was used is taken off:
 * the last wait of a process for one child after the other.
 */
bool child_exit_await(pid_t pid, siginfo_t *ret_status, int *timeout_ms);
