/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-failure.h"

#include <string.h>

#include "kernel/text/text-file.h"

// clang-format off
const HeapFailureRow heap_failures[_HEAP_FAILURE_MAX] = {
        [HEAP_FAILURE_PID_MISSING] = {
                "pid-missing", SOURCE_OUTCOME_vanished, true, NULL },
        [HEAP_FAILURE_PERMISSION] = {
                "permission", SOURCE_OUTCOME_denied, false, NULL },
        [HEAP_FAILURE_MAPS_READ] = {
                "maps-read-failure", SOURCE_OUTCOME_other, false,
                "/proc/PID/maps could not be read, or has more than fits" },
        [HEAP_FAILURE_FILE_OPEN] = {
                "file-open-failure", SOURCE_OUTCOME_other, false,
                "a file that they execute could not be opened: deleted files need "
                "CAP_CHECKPOINT_RESTORE and, of other users, CAP_DAC_READ_SEARCH" },
        [HEAP_FAILURE_FILE_UNREADABLE] = {
                "file-unreadable", SOURCE_OUTCOME_malformed, false,
                "a file that they execute could not be read, or is damaged" },
        [HEAP_FAILURE_FILE_JOB] = {
                "file-job-failure", SOURCE_OUTCOME_other, false,
                "the job that looks into files did not answer" },
        [HEAP_FAILURE_ARCH_MISMATCH] = {
                "arch-mismatch", SOURCE_OUTCOME_unsupported, false,
                "they are of another architecture" },
        [HEAP_FAILURE_LAYOUT_UNKNOWN] = {
                "layout-unknown", SOURCE_OUTCOME_unsupported, false,
                "their jemalloc does not show where its counters are" },
        [HEAP_FAILURE_LAYOUT_CONFLICT] = {
                "layout-conflict", SOURCE_OUTCOME_malformed, false,
                "their jemalloc contradicts itself about where its counters are" },
        [HEAP_FAILURE_TLS_POSITION_UNKNOWN] = {
                "tls-position-unknown", SOURCE_OUTCOME_unsupported, false,
                "their jemalloc does not show where a thread keeps its counters" },
        [HEAP_FAILURE_TLS_MODEL_UNSUPPORTED] = {
                "tls-model-unsupported", SOURCE_OUTCOME_unsupported, false,
                "their jemalloc keeps its counters in a way that is not supported" },
        [HEAP_FAILURE_COUNTERS_DISABLED] = {
                "counters-disabled", SOURCE_OUTCOME_unsupported, false,
                "their jemalloc was built without statistics" },
        [HEAP_FAILURE_IDENTITY_CHANGED] = {
                "identity-changed", SOURCE_OUTCOME_vanished, false, NULL },
        [HEAP_FAILURE_TIMED_OUT] = {
                "timed-out", SOURCE_OUTCOME_other, false,
                "they keep the lock of their memory taken, or need more time than HeapTime= of "
                "ctprofd.conf gives; --no-heap skips all" },
        [HEAP_FAILURE_HUNG] = {
                "hung-before", SOURCE_OUTCOME_other, false,
                "a job that read their memory hung in the kernel, so they are not touched again; "
                "ctprofctl status lists jobs that hang" },
        [HEAP_FAILURE_OWNER_HUNG] = {
                "owner-hung-before", SOURCE_OUTCOME_other, false,
                "jobs hung in the memory of other processes of their users, so none of these "
                "are read; ctprofctl status lists jobs that hang" },
        [HEAP_FAILURE_MEMORY_JOB] = {
                "memory-job-failure", SOURCE_OUTCOME_other, false,
                "the job that reads memory failed, or did not answer" },
        [HEAP_FAILURE_TIME_BUDGET] = {
                "time-budget", SOURCE_OUTCOME_other, false, NULL },
        [HEAP_FAILURE_NO_THREAD_POINTER] = {
                "no-thread-pointer", SOURCE_OUTCOME_unsupported, false,
                "the kernel was not told where they keep their data: of musl they are read with "
                "the bpf backend only, and those of vfork() or a bare clone() never" },
        [HEAP_FAILURE_THREAD_EXITED] = {
                "thread-exited", SOURCE_OUTCOME_vanished, true, NULL },
        [HEAP_FAILURE_TID_MISMATCH] = {
                "tid-mismatch", SOURCE_OUTCOME_other, false,
                "what was found in their memory is of another thread" },
        [HEAP_FAILURE_PROCESS_VM_READV] = {
                "process-vm-readv", SOURCE_OUTCOME_other, false,
                "their memory could not be read" },
        [HEAP_FAILURE_TLS_ARITHMETIC] = {
                "tls-arithmetic", SOURCE_OUTCOME_malformed, false,
                "what was found in their memory cannot be an address" },
};
// clang-format on

HeapFailure heap_failure_of_verdict(HeapVerdict verdict) {
        static const HeapFailure failures[_HEAP_VERDICT_MAX] = {
                [HEAP_READY] = HEAP_FAILURE_NONE,
                [HEAP_NOT_JEMALLOC] = HEAP_FAILURE_NONE,
                [HEAP_ARCH_MISMATCH] = HEAP_FAILURE_ARCH_MISMATCH,
                [HEAP_LAYOUT_UNKNOWN] = HEAP_FAILURE_LAYOUT_UNKNOWN,
                [HEAP_LAYOUT_CONFLICT] = HEAP_FAILURE_LAYOUT_CONFLICT,
                [HEAP_TLS_POSITION_UNKNOWN] = HEAP_FAILURE_TLS_POSITION_UNKNOWN,
                [HEAP_TLS_MODEL_UNSUPPORTED] = HEAP_FAILURE_TLS_MODEL_UNSUPPORTED,
                [HEAP_COUNTERS_DISABLED] = HEAP_FAILURE_COUNTERS_DISABLED,
                [HEAP_FILE_UNREADABLE] = HEAP_FAILURE_FILE_UNREADABLE,
        };

        return verdict < _HEAP_VERDICT_MAX ? failures[verdict] : HEAP_FAILURE_NONE;
}

HeapFailure heap_failure_of_reading(int r, HeapFailure otherwise) {
        switch (r) {
        case TEXT_OK:
                return HEAP_FAILURE_NONE;
        case TEXT_E_ABSENT:
        case TEXT_E_VANISHED:
                return HEAP_FAILURE_PID_MISSING;
        case TEXT_E_DENIED:
                return HEAP_FAILURE_PERMISSION;
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
