/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-reasons.h"

#include <inttypes.h>
#include <stdio.h>

/* What users read of each failure, behind how often it was met. */
// clang-format off
static const struct {
        bool is_of_thread;
        const char *text;
} sentences[_HEAP_FAILURE_MAX] = {
        [HEAP_FAILURE_MAPS_READ] = { false,
                "/proc/PID/maps could not be read, or has more than fits" },
        [HEAP_FAILURE_FILE_OPEN] = { false,
                "a file that they execute could not be opened: deleted files need "
                "CAP_CHECKPOINT_RESTORE and, of other users, CAP_DAC_READ_SEARCH" },
        [HEAP_FAILURE_FILE_UNREADABLE] = { false,
                "a file that they execute could not be read, or is damaged" },
        [HEAP_FAILURE_FILE_JOB] = { false, "the job that looks into files did not answer" },
        [HEAP_FAILURE_ARCH_MISMATCH] = { false, "they are of another architecture" },
        [HEAP_FAILURE_LAYOUT_UNKNOWN] = { false,
                "their jemalloc does not show where its counters are" },
        [HEAP_FAILURE_LAYOUT_CONFLICT] = { false,
                "their jemalloc contradicts itself about where its counters are" },
        [HEAP_FAILURE_TLS_POSITION_UNKNOWN] = { false,
                "their jemalloc does not show where a thread keeps its counters" },
        [HEAP_FAILURE_TLS_MODEL_UNSUPPORTED] = { false,
                "their jemalloc keeps its counters in a way that is not supported" },
        [HEAP_FAILURE_COUNTERS_DISABLED] = { false,
                "their jemalloc was built without statistics" },
        [HEAP_FAILURE_TIMED_OUT] = { false,
                "they keep the lock of their memory taken, or need more time than HeapTime= of "
                "ctprofd.conf gives; --no-heap skips all" },
        [HEAP_FAILURE_HUNG] = { false,
                "a job that read their memory hung in the kernel, so they are not touched again; "
                "ctprofctl status lists jobs that hang" },
        [HEAP_FAILURE_OWNER_HUNG] = { false,
                "jobs hung in the memory of other processes of their users, so none of these "
                "are read; ctprofctl status lists jobs that hang" },
        [HEAP_FAILURE_MEMORY_JOB] = { false,
                "the job that reads memory failed, or did not answer" },
        [HEAP_FAILURE_NO_THREAD_POINTER] = { true,
                "the kernel was not told where they keep their data: of musl they are read with "
                "the bpf backend only, and those of vfork() or a bare clone() never" },
        [HEAP_FAILURE_TID_MISMATCH] = { true,
                "what was found in their memory is of another thread" },
        [HEAP_FAILURE_PROCESS_VM_READV] = { true, "their memory could not be read" },
        [HEAP_FAILURE_TLS_ARITHMETIC] = { true,
                "what was found in their memory cannot be an address" },
};
// clang-format on

static const char *permission_reason(const Gates *gates) {
        if (gates->in_user_namespace)
                return REASON_IN_USER_NAMESPACE;
        if (gates->has_sys_ptrace)
                return "the memory of some processes is refused even with CAP_SYS_PTRACE: a "
                       "security policy protects them";
        return "reading the memory of other processes needs CAP_SYS_PTRACE: " REASON_RUN_PRIVILEGED;
}

static void explain_budget(const Heap *heap, Source *source, uint64_t n) {
        source_set(source, source->state,
                   "the time budget of %" PRIu64 " ms did not suffice for %" PRIu64
                   " process%s: " SOURCE_REMEDY_HEAP_TIME " sets it, --no-heap skips all",
                   heap_options(heap)->limit_ns / NSEC_PER_MSEC, n, n == 1 ? "" : "es");
}

/* One sentence has room for one cause: the most frequent one, but for what a setting changes. */
static HeapFailure find_cause(const uint64_t counts[static _HEAP_FAILURE_MAX]) {
        HeapFailure cause = HEAP_FAILURE_NONE;

        if (counts[HEAP_FAILURE_TIME_BUDGET] > 0)
                return HEAP_FAILURE_TIME_BUDGET;
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++)
                if (heap_failure_outcome((HeapFailure) i) != SOURCE_OUTCOME_vanished &&
                    counts[i] > (cause == HEAP_FAILURE_NONE ? 0 : counts[cause]))
                        cause = (HeapFailure) i;
        return cause;
}

static void explain_failure(const Heap *heap, Source *source) {
        const HeapSummary *summary = heap_summary(heap);
        HeapFailure failure = find_cause(summary->failures);
        uint64_t n;

        if (failure == HEAP_FAILURE_NONE)
                return;
        n = summary->failures[failure];
        if (failure == HEAP_FAILURE_TIME_BUDGET)
                explain_budget(heap, source, n);
        else if (failure == HEAP_FAILURE_PERMISSION)
                source_set(source, source->state, "%s", permission_reason(&heap_host(heap)->gates));
        else
                source_set(source, source->state, "%" PRIu64 " %s (%s): %s", n,
                           sentences[failure].is_of_thread ? n == 1 ? "thread" : "threads"
                           : n == 1                        ? "process"
                                                           : "processes",
                           heap_failure_name(failure), sentences[failure].text);
}

void heap_explain(const Heap *heap, Source *source) {
        switch (heap_state(heap)) {
        case HEAP_STATE_READING:
                break;
        case HEAP_STATE_NOT_WANTED:
                source_set(source, SOURCE_STATE_NOT_REQUESTED, "the capture was asked to skip it");
                return;
        case HEAP_STATE_FOREIGN_PIDS:
                source_set(source, SOURCE_STATE_UNAVAILABLE,
                           "/proc belongs to another pid namespace than this process, so system "
                           "calls know its processes by other numbers");
                return;
        case HEAP_STATE_NO_MEMORY:
                source_set(source, SOURCE_STATE_UNAVAILABLE, "%s",
                           heap_options(heap)->no_memory
                                   ? heap_options(heap)->no_memory
                                   : "the memory of processes cannot be read here");
                return;
        case HEAP_STATE_NO_MACHINE:
                source_set(source, SOURCE_STATE_UNAVAILABLE,
                           "counters of allocators are read on x86_64 and aarch64 only");
                return;
        }
        if (source->state != SOURCE_STATE_OK)
                explain_failure(heap, source);
        else if (!heap_options(heap)->is_trial && heap_summary(heap)->n_detected == 0)
                source_set(source, SOURCE_STATE_NOT_APPLICABLE,
                           "no process of this host uses jemalloc");
}

void heap_explain_commands(const Heap *heap, Source *source) {
        const HeapOptions *options = heap_options(heap);
        const uint64_t *counts = heap_summary(heap)->commands;
        HeapFailure cause = find_cause(counts);
        const char *text = "their arguments could not be read";

        if (options->commands == COMMAND_LINES_NO) {
                source_set(source, SOURCE_STATE_NOT_REQUESTED,
                           "CommandLines=no in ctprofd.conf, or nobody asked for them");
                return;
        }
        if (heap_commands(heap) == COMMAND_LINES_NO) {
                source_set(source, SOURCE_STATE_UNAVAILABLE, "%s",
                           options->no_memory ? options->no_memory
                                              : "the memory of processes cannot be read here");
                return;
        }
        if (source->state == SOURCE_STATE_OK || cause == HEAP_FAILURE_NONE)
                return;
        if (cause == HEAP_FAILURE_TIME_BUDGET)
                text = "there was no time for them, and the next capture reads them: HeapTime= of "
                       "ctprofd.conf sets it";
        else if (cause == HEAP_FAILURE_TIMED_OUT)
                text = "they keep the lock of their memory taken";
        else if (cause != HEAP_FAILURE_PERMISSION && sentences[cause].text &&
                 !sentences[cause].is_of_thread)
                text = sentences[cause].text;
        source_set(source, source->state, "%" PRIu64 " process%s (%s): %s", counts[cause],
                   counts[cause] == 1 ? "" : "es", heap_failure_name(cause), text);
}
