/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-failure.h"

#include <errno.h>
#include <string.h>

#include "kernel/text/text-file.h"

const HeapFailureRow heap_failures[_HEAP_FAILURE_MAX] = {
#define X(failure_, name_, outcome_, is_benign_, reason_) \
        [HEAP_FAILURE_##failure_] = { name_, SOURCE_OUTCOME_##outcome_, is_benign_, reason_ },
        HEAP_FAILURES(X)
#undef X
};

HeapFailure heap_failure_of_reading(int r, HeapFailure otherwise) {
        switch (r) {
        case TEXT_OK:
                return HEAP_FAILURE_NONE;
        case TEXT_E_ABSENT:
        case TEXT_E_VANISHED:
                return HEAP_FAILURE_PID_MISSING;
        case TEXT_E_DENIED:
                return HEAP_FAILURE_PERMISSION;
        case -ETIMEDOUT:
                return HEAP_FAILURE_TIMED_OUT;
        default:
                return otherwise;
        }
}

/* summary */

void heap_summary_merge(HeapSummary *summary, const HeapSummary *other) {
        summary->n_walked += other->n_walked;
        summary->n_detected += other->n_detected;
        summary->n_ok += other->n_ok;
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++) {
                summary->failures[i] += other->failures[i];
                summary->parts[i] += other->parts[i];
                summary->commands[i] += other->commands[i];
        }
}

void heap_summary_finish(HeapSummary *summary) {
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++)
                if (summary->failures[i] == 0 && summary->parts[i] > 0)
                        summary->failures[i] = 1;
}

void heap_summary_write_json(JsonWriter *writer, const HeapSummary *summary) {
        uint64_t n_failed = 0, most = 0, n_denied = summary->failures[HEAP_FAILURE_PERMISSION];
        const char *dominant = ""; /* the first by name of several */

        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++) {
                uint64_t n = heap_failures[i].is_benign ? 0 : summary->failures[i];

                n_failed += n;
                if (n == 0 || n < most ||
                    (n == most && strcmp(heap_failures[i].name, dominant) > 0))
                        continue;
                dominant = heap_failures[i].name;
                most = n;
        }
        json_write_object(writer);
        json_write_member_u64(writer, "tgids_walked", summary->n_walked);
        json_write_member_u64(writer, "jemalloc_detected", summary->n_detected);
        json_write_member_u64(writer, "probed_ok", summary->n_ok);
        json_write_member_u64(writer, "failed", n_failed);
        if (most == 0)
                json_write_member_null(writer, "dominant_failure");
        else
                json_write_member_text(writer, "dominant_failure", dominant);
        json_write_member_bool(writer, "privilege_dominant",
                               n_failed > 0 && n_denied >= n_failed - n_denied);
        json_write_key(writer, "failures");
        json_write_object(writer);
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++)
                if (!heap_failures[i].is_benign && summary->failures[i] > 0)
                        json_write_member_u64(writer, heap_failures[i].name, summary->failures[i]);
        json_write_end(writer);
        json_write_end(writer);
}
