/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request.h"

#include <stdlib.h>

#include "base/err.h"
#include "metric/metric.h"

/* A name that is near one that is there was probably meant to be it. */
static int fail_not_found(Request *request, const char *name) {
        WireErrorDetail detail = { .subject = span_of(name) };
        _cleanup_(freep) const char **names = NULL;
        SpoolEntry *entries = NULL;
        size_t n = 0;
        int r;

        /* Only a courtesy: without it the answer is as right. */
        if (spool_list(request_setup(request)->spool, &entries, &n) == 0)
                names = calloc(n + 1, sizeof(*names));
        if (names) {
                for (size_t i = 0; i < n; i++)
                        names[i] = entries[i].head.name;
                detail.nearest = name_nearest(span_of(name), names, n);
        }
        r = request_fail(request, WIRE_ERROR_NO_SUCH_SNAPSHOT, &detail);
        spool_entries_free(entries, n);
        return r;
}

int request_fail_spool(Request *request, const char *name, int r) {
        Spool *spool = request_setup(request)->spool;

        switch (r) {
        case SPOOL_E_NOT_FOUND:
                return fail_not_found(request, name);
        case SPOOL_E_EXISTS:
                return request_fail(request, WIRE_ERROR_SNAPSHOT_EXISTS,
                                    &(WireErrorDetail){ .subject = span_of(name) });
        case SPOOL_E_DAMAGED:
                return request_fail(
                        request, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                        &(WireErrorDetail){
                                .subject = span_of(name),
                                .reason = "it is damaged; \"ctprofctl verify\" tells more",
                        });
        case SPOOL_E_FULL:
                return request_fail(request, WIRE_ERROR_SPOOL_FULL,
                                    &(WireErrorDetail){ .reason = spool_complaint(spool) });
        case SPOOL_E_UNAVAILABLE:
                return request_fail(request, WIRE_ERROR_SPOOL_UNAVAILABLE,
                                    &(WireErrorDetail){ .reason = spool_complaint(spool) });
        case SPOOL_E_NOT_OWNER:
                return request_fail(request, WIRE_ERROR_PERMISSION_DENIED, NULL);
        default:
                return err_fold(r);
        }
}
