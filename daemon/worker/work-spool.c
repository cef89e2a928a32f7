/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work-spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/name.h"
#include "metric/metric.h"

void spool_parameters_done(SpoolParameters *parameters) {
        parameters->directory = fd_close(parameters->directory);
}

int work_adopt_spool(Work *work, SpoolParameters *parameters, Spool **ret) {
        _cleanup_(spool_freep) Spool *spool = NULL;
        int r;

        r = spool_adopt(parameters->directory, parameters->path ? parameters->path : "", &spool);
        if (r < 0)
                return r;
        (void) TAKE_FD(parameters->directory);
        if (r != 0)
                return work_refuse_spool(work, spool, "", r);
        *ret = TAKE_PTR(spool);
        return 0;
}

int work_decode_limits(Work *work, const SpoolParameters *parameters, SpoolLimits *ret) {
        static const Parameter table[] = {
                { "maxBytes", PARAMETER_U64, true, offsetof(SpoolLimits, max_bytes) },
                { "keepFreeBytes", PARAMETER_U64, true, offsetof(SpoolLimits, keep_free_bytes) },
                { "maxAgeNs", PARAMETER_U64, true, offsetof(SpoolLimits, max_age_ns) },
        };
        char culprit[PARAMETER_CULPRIT_BYTES];
        SpoolLimits limits = {};
        int r = 0;

        if (parameters->limits)
                r = parameters_decode(parameters->limits, table, ELEMENTSOF(table), "limits.",
                                      work->stream, &limits, culprit);
        if (r == PARAMETERS_E_INVALID)
                return work_refuse_parameter(work, culprit, NULL);
        if (r != 0)
                return err_fold(r);
        *ret = limits;
        return 0;
}

static int work_refuse_not_found(Work *work, Spool *spool, const char *name) {
        WireErrorDetail detail = { .subject = span_of(name) };
        SpoolEntry *entries = NULL;
        const char **names = NULL;
        size_t n = 0;
        int r;

        /* The nearest name is a courtesy: the answer is right without it. */
        if (spool_list(spool, &entries, &n) == 0)
                names = calloc(n + 1, sizeof(*names));
        if (names) {
                for (size_t i = 0; i < n; i++)
                        names[i] = entries[i].head.name;
                detail.nearest = name_nearest(span_of(name), names, n);
        }
        r = work_refuse(work, WIRE_ERROR_NO_SUCH_SNAPSHOT, &detail);
        free(names);
        spool_entries_free(entries, n);
        return r;
}

int work_refuse_spool(Work *work, Spool *spool, const char *name, int r) {
        char reason[SNAPSHOT_NAME_MAX_CHARS + 64];

        switch (r) {
        case SPOOL_E_NOT_FOUND:
                return work_refuse_not_found(work, spool, name);
        case SPOOL_E_EXISTS:
                return work_refuse(work, WIRE_ERROR_SNAPSHOT_EXISTS,
                                   &(WireErrorDetail){ .subject = span_of(name) });
        case SPOOL_E_DAMAGED:
                return work_refuse(
                        work, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                        &(WireErrorDetail){
                                .subject = span_of(name),
                                .reason = "it is damaged; \"ctprofctl verify\" tells more",
                        });
        case SPOOL_E_FULL:
                return work_refuse(work, WIRE_ERROR_SPOOL_FULL,
                                   &(WireErrorDetail){ .reason = spool_complaint(spool) });
        case SPOOL_E_UNAVAILABLE:
                return work_refuse(work, WIRE_ERROR_SPOOL_UNAVAILABLE,
                                   &(WireErrorDetail){ .reason = spool_complaint(spool) });
        case SPOOL_E_NOT_OWNER:
                (void) snprintf(reason, sizeof(reason), "the snapshot \"%s\" is another user's",
                                name);
                return work_refuse(work, WIRE_ERROR_PERMISSION_DENIED,
                                   &(WireErrorDetail){ .reason = reason });
        default:
                return err_fold(r);
        }
}

int work_await_disk(Work *work, Spool *spool, int file) {
        if (fsync(file) != 0)
                return work_refuse_spool(work, spool, "", spool_explain(spool, -errno));
        return answer_has_peer(&work->answer) ? 0 : -ECANCELED;
}

void work_write_rotated(JsonWriter *writer, const Buffer *rotated) {
        Span rest = buffer_span(rotated);

        if (rest.n == 0)
                return;
        json_write_key(writer, "rotated");
        json_write_array(writer);
        while (rest.n > 0) {
                const char *end = memchr(rest.bytes, '\n', rest.n);
                size_t n = end ? (size_t) (end - rest.bytes) : rest.n;

                json_write_name(writer, (Span){ rest.bytes, n });
                n += end ? 1 : 0;
                rest = (Span){ rest.bytes + n, rest.n - n };
        }
        json_write_end(writer);
}
