/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Loading
 *
 * When BPF programs are loaded, and for which captures. A daemon loads them at its start, by a
 * request of its own for which captures wait; a private one, before a capture for which that pays.
 * Loading is tried once: then this process gives up for ever the capabilities that it takes, so
 * that nothing that happens to the process later can load anything. The descriptor store holds what
 * was loaded, and each capture borrows that. A refusal is remembered: it is not tried again before
 * a restart.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/bpf/ledger.h"
#include "service/manager/manager.h"
#include "service/request/request.h"

/* Loads, or finds out that there is nothing to load. Not for a private service. */
void loading_start(Manager *manager);

/* True when a capture with this choice has to wait for a job that loads. */
bool loading_is_due(const Manager *manager, BackendChoice choice);
/* The order of that job. @captures_only: no recording can follow. */
LoadOrder loading_order(const Manager *manager, bool captures_only);
/* Takes a note of that job: clocks of CPUs. */
int loading_take_clocks(Request *request, const JobReply *note);
void loading_drop_clocks(Manager *manager);
/* Take the reply of that job, for a request that waited for it. */
void loading_take(Request *request, const JobReply *reply);
void loading_fail(Request *request, const WireErrorDetail *detail);

/*
 * How a capture reads threads. @wish: of its caller or the settings; @is_end: it is one end of an
 * interval. For a private service that leaves the choice, loading has to pay.
 */
BackendChoice loading_choose(const Manager *manager, BackendChoice wish, bool is_end);

/* Waits are counted by reason for no longer than the settings say, also what earlier ones began. */
void loading_limit_reasons(const Manager *manager);
/* Looks how that account stands; false: no programs are there that could count. */
bool loading_look_at_reasons(const Manager *manager, ReasonState *ret);
/*
 * Adds what was loaded to a capture's order. REQUEST_ANSWERED when BPF was asked for and there is
 * none: the caller is told why.
 */
_must_check_ int loading_add(Request *request, CaptureOrder *order, BackendChoice choice);

/*
 * Adds what a recording takes samples with, and starts the clocks of the CPUs. REQUEST_ANSWERED
 * when there is none: the caller is told why.
 */
_must_check_ int loading_add_sampling(Request *request, RecordOrder *record);

/* Switches off what takes samples, also where the job that is to do that was killed. */
void loading_end_sampling(const Manager *manager);

/* False when no samples are being taken. */
bool loading_look_at_sampling(const Manager *manager, RecordControl *ret);

/* The settings have changed. */
void loading_reconsider(Manager *manager);
/* They want programs, and this process can load none any more because the earlier ones did not. */
bool loading_needs_restart(const Manager *manager);

/* For the status of the daemon; not while programs are being loaded. */
typedef struct LoadingState {
        /* A capture that leaves the choice reads threads so; AUTO: none can. */
        BackendChoice backend;
        char reason[MANAGER_REFUSAL_BYTES]; /* why it is not BPF; "" when it is */
        bool has_since;                     /* programs are loaded, and when they were is known */
        uint64_t since_realtime_ns, since_boottime_ns;
} LoadingState;

LoadingState loading_state(const Manager *manager);
