/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Loading
 *
 * When BPF programs are loaded, and for which captures. A daemon loads them at its start, by a
 * request of its own for which captures wait; a private one, before a capture for which that pays.
 * Loading is tried once: then this process gives up for ever the capabilities that it takes, so
 * that nothing that happens to the process later can load anything.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "service/desk/desk.h"
#include "service/request/request.h"

/* Loads, or finds out that there is nothing to load. Not for a private service. */
void loading_start(Desk *desk);

/* What became of the job that loads, for a request that waited for it. */
void loading_take(Request *request, const JobReply *reply);
void loading_fail(Request *request, const WireErrorDetail *detail);

/*
 * How a capture reads threads. @wish: of its caller or the settings; @is_end: it is one end of an
 * interval. For a private service that leaves the choice, loading has to pay.
 */
BackendChoice loading_choose(const Desk *desk, BackendChoice wish, bool is_end);

/* The settings have changed. */
void loading_reconsider(Desk *desk);
/* They want programs, and this process can load none any more because the earlier ones did not. */
bool loading_needs_restart(const Desk *desk);

/* For the status of the daemon; not while programs are being loaded. */
typedef struct LoadingState {
        /* How a capture that leaves the choice reads threads; AUTO: none can. */
        BackendChoice backend;
        char reason[DESK_REFUSAL_BYTES]; /* why it is not BPF; "" when it is */
        bool has_since;                  /* programs are loaded, and when they were is known */
        uint64_t since_realtime_ns, since_boottime_ns;
} LoadingState;

LoadingState loading_state(const Desk *desk);
