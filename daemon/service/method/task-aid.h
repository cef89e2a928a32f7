/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskAid
 *
 * What the main process does so that a capture can read threads through BPF: a job loads the
 * program and ends (loading.h says when); the vault holds what it loaded, and each capture borrows
 * that. A refusal is remembered, for it is not tried again until a restart.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "kernel/bpf/ledger.h"
#include "service/request/request.h"

bool task_aid_is_loaded(const Desk *desk);
/* What was loaded counts what threads have done that end. */
bool task_aid_counts_exits(const Desk *desk);
/* Closes what was loaded, also at the service manager. */
void task_aid_drop(Desk *desk);
/* Whether a capture with this choice has to wait for a job that loads. */
bool task_aid_must_load(const Desk *desk, BackendChoice choice);
/* The order of that job. */
LoadOrder task_aid_load_order(const Desk *desk);
/* @reply: what that job answers, with descriptors or with a reason. */
void task_aid_take(Request *request, const JobReply *reply);
/* Tells what was loaded, also by an earlier process, which processes are callers. */
void task_aid_share_own(const Desk *desk);
/* Waits are counted by reason for no longer than the settings say, also what earlier ones began. */
void task_aid_limit_reasons(const Desk *desk);
/* How that account stands; false: no programs are there that could count. */
bool task_aid_look_at_reasons(const Desk *desk, ReasonState *ret);
/* Says in a capture's order whether it has waits counted by reason. */
void task_aid_add_reasons(const Desk *desk, CaptureOrder *order, bool are_wanted);
/* Files are read from now on. */
void task_aid_refuse(Desk *desk, const char *reason);

/*
 * Adds what was loaded to a capture's order. REQUEST_ANSWERED when BPF was asked for and there is
 * none: the caller is told why.
 */
_must_check_ int task_aid_add(Request *request, CaptureOrder *order, BackendChoice choice);
