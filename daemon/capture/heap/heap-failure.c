/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-failure.h"

#include <string.h>

static const struct {
        const char *name;
        SourceOutcome outcome;
        bool is_benign;
} rows[] = {
#define HEAP_FAILURE_ROW(id, name, outcome, benign) { name, SOURCE_OUTCOME_##outcome, benign },
        HEAP_FAILURES(HEAP_FAILURE_ROW)
};

const char *heap_failure_name(HeapFailure failure) {
        return rows[failure].name;
}

SourceOutcome heap_failure_outcome(HeapFailure failure) {
        return rows[failure].outcome;
}

bool heap_failure_is_benign(HeapFailure failure) {
        return rows[failure].is_benign;
}

HeapFailure heap_failure_of_verdict(HeapVerdict verdict) {
        switch (verdict) {
        case HEAP_ARCH_MISMATCH:
                return HEAP_FAILURE_ARCH_MISMATCH;
        case HEAP_LAYOUT_UNKNOWN:
                return HEAP_FAILURE_LAYOUT_UNKNOWN;
        case HEAP_LAYOUT_CONFLICT:
                return HEAP_FAILURE_LAYOUT_CONFLICT;
        case HEAP_TLS_POSITION_UNKNOWN:
                return HEAP_FAILURE_TLS_POSITION_UNKNOWN;
        case HEAP_TLS_MODEL_UNSUPPORTED:
                return HEAP_FAILURE_TLS_MODEL_UNSUPPORTED;
        case HEAP_COUNTERS_DISABLED:
                return HEAP_FAILURE_COUNTERS_DISABLED;
        case HEAP_FILE_UNREADABLE:
                return HEAP_FAILURE_FILE_UNREADABLE;
        case HEAP_READY:
        case HEAP_NOT_JEMALLOC:
        case _HEAP_VERDICT_MAX:
                break;
        }
        return HEAP_FAILURE_NONE;
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

uint64_t heap_summary_n_failed(const HeapSummary *summary) {
        uint64_t n = 0;

        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++)
                if (!rows[i].is_benign)
                        n += summary->failures[i];
        return n;
}

HeapFailure heap_summary_dominant(const HeapSummary *summary) {
        HeapFailure dominant = HEAP_FAILURE_NONE;
        const char *name = "";
        uint64_t most = 0;

        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++) {
                uint64_t n = rows[i].is_benign ? 0 : summary->failures[i];

                if (n == 0 || n < most || (n == most && strcmp(rows[i].name, name) > 0))
                        continue;
                dominant = (HeapFailure) i;
                name = rows[i].name;
                most = n;
        }
        return dominant;
}

void heap_summary_write_json(JsonWriter *writer, const HeapSummary *summary) {
        uint64_t n_failed = heap_summary_n_failed(summary);
        uint64_t n_denied = summary->failures[HEAP_FAILURE_PERMISSION];
        HeapFailure dominant = heap_summary_dominant(summary);

        json_write_object(writer);
        json_write_member_u64(writer, "tgids_walked", summary->n_walked);
        json_write_member_u64(writer, "jemalloc_detected", summary->n_detected);
        json_write_member_u64(writer, "probed_ok", summary->n_ok);
        json_write_member_u64(writer, "failed", n_failed);
        if (dominant == HEAP_FAILURE_NONE)
                json_write_member_null(writer, "dominant_failure");
        else
                json_write_member_text(writer, "dominant_failure", heap_failure_name(dominant));
        json_write_member_bool(writer, "privilege_dominant",
                               n_failed > 0 && n_denied >= n_failed - n_denied);
        json_write_key(writer, "failures");
        json_write_object(writer);
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++)
                if (!rows[i].is_benign && summary->failures[i] > 0)
                        json_write_member_u64(writer, rows[i].name, summary->failures[i]);
        json_write_end(writer);
        json_write_end(writer);
}
