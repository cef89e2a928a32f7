/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DenetExport
 *
 * What the threads of an interval did while they did not run, as the object "ebpf.offcpu" that
 * denet writes: for programs that read that. Their time off the CPU is what they waited in all
 * places, the run queue included; an event is a switch away from one. How long single ones were is
 * not known, so that "max_time_ns" and "min_time_ns" are null.
 */

#include <json-c/json.h>
#include "base/array.h"
#include "base/macro.h"
#include "render/json-out.h"
#include "session/reference.h"
#include "session/session.h"

typedef struct DenetThread {
        uint64_t pid, tid;
        uint64_t ns, n_events;
        bool has_events;
} DenetThread;

/* Zeroed before denet_export_read(). */
typedef struct DenetExport {
        json_object *head;    /* of the snapshot at the end; owned, NULL before there is a reply */
        DenetThread *threads; /* owned; those that were there at the end */
        size_t n, n_allocated;
        uint64_t ns, n_events; /* also of those that ended */
        bool has_events;       /* of all */
        uint64_t n_groups;     /* whose time is known */
        bool is_interval;
} DenetExport;

void denet_export_done(DenetExport *export);
/* 0 or an exit status: @subject may be no interval, or one in which waits were not counted. */
_must_check_ int denet_export_read(Session *session, const SubjectReference *subject,
                                   DenetExport *export);
/* Sorts the threads, the heaviest first. 0 or -errno. */
_must_check_ int denet_export_write(DenetExport *export, JsonOut *out);
