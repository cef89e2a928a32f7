/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool-failure.h"

#include <stdio.h>
#include <stdlib.h>

#include "metric/metric.h"

/* Suggests an existing name that resembles the one asked for; without memory, none. */
static void find_nearest(SpoolFailure *failure, Spool *spool, const char *name) {
        _cleanup_(freep) const char **names = NULL;

        if (spool_list(spool, &failure->entries, &failure->n_entries) != 0)
                return;
        names = calloc(failure->n_entries + 1, sizeof(*names));
        if (!names)
                return;
        for (size_t i = 0; i < failure->n_entries; i++)
                names[i] = failure->entries[i].head.name;
        failure->detail.nearest = name_nearest(span_of(name), names, failure->n_entries);
}

bool spool_failure_init(SpoolFailure *failure, Spool *spool, const char *name, int r) {
        WireErrorDetail *detail = &failure->detail;

        *failure = (SpoolFailure){ .detail.subject = span_of(name) };
        switch (r) {
        case SPOOL_E_NOT_FOUND:
                failure->error = WIRE_ERROR_NO_SUCH_SNAPSHOT;
                find_nearest(failure, spool, name);
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
                detail->reason = spool_complaint(spool);
                return true;
        case SPOOL_E_UNAVAILABLE:
                failure->error = WIRE_ERROR_SPOOL_UNAVAILABLE;
                detail->reason = spool_complaint(spool);
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

void spool_failure_done(SpoolFailure *failure) {
        spool_entries_free(failure->entries, failure->n_entries);
}
