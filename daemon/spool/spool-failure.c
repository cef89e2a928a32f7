/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "metric/metric.h"
#include "spool/spool-directory.h"

/* Comparing a name with so many others is soon done. */
#define MAX_SUGGESTIONS 1000u

/*
 * Suggests an existing name that resembles the one asked for: one of the newest in @view, or of
 * some in the directory. Without memory it suggests none.
 */
static void find_nearest(SpoolFailure *failure, const Spool *spool, const SpoolView *view,
                         const char *name) {
        _cleanup_(freep) const char **names = calloc(MAX_SUGGESTIONS, sizeof(*names));
        _cleanup_(buffer_done) Buffer listed = {};
        const char *nearest;
        size_t n = 0;

        if (!names || (!view && spool_names(spool, SPOOL_NAMES_SNAPSHOTS, &listed) != 0))
                return;
        for (; view && n < view->n && n < MAX_SUGGESTIONS; n++)
                names[n] = view->entries[n]->name;
        for (size_t at = 0; at < listed.n && n < MAX_SUGGESTIONS;
             at += strlen(listed.bytes + at) + 1)
                names[n++] = listed.bytes + at;
        nearest = name_nearest(span_of(name), names, n);
        if (!nearest)
                return;
        (void) snprintf(failure->nearest, sizeof(failure->nearest), "%s", nearest);
        failure->detail.nearest = failure->nearest;
}

bool spool_failure_init(SpoolFailure *failure, Spool *spool, const SpoolView *view,
                        const char *name, int r) {
        WireErrorDetail *detail = &failure->detail;

        *failure = (SpoolFailure){ .detail.subject = span_of(name) };
        switch (r) {
        case SPOOL_E_NOT_FOUND:
                failure->error = WIRE_ERROR_NO_SUCH_SNAPSHOT;
                find_nearest(failure, spool, view, name);
                return true;
        case SPOOL_E_EXISTS:
                failure->error = WIRE_ERROR_SNAPSHOT_EXISTS;
                return true;
        case SPOOL_E_DAMAGED:
                failure->error = WIRE_ERROR_SNAPSHOT_UNREADABLE;
                detail->reason = "it is damaged; \"ctprofctl verify\" shows where";
                return true;
        case SPOOL_E_FULL:
                failure->error = WIRE_ERROR_SPOOL_FULL;
                detail->reason = spool->complaint;
                return true;
        case SPOOL_E_UNAVAILABLE:
                failure->error = WIRE_ERROR_SPOOL_UNAVAILABLE;
                detail->reason = spool->complaint;
                return true;
        case SPOOL_E_NOT_OWNER:
                failure->error = WIRE_ERROR_PERMISSION_DENIED;
                (void) snprintf(failure->reason, sizeof(failure->reason),
                                "the snapshot \"%s\" belongs to another user", name);
                detail->reason = failure->reason;
                return true;
        default:
                return false;
        }
}
