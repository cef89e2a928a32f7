/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/source-report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "capture/batch/backend.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/procfs.h"

#define NO_PRESSURE                                                  \
        "pressure stall information is off: " SOURCE_REMEDY_PRESSURE \
        " (a kernel built with CONFIG_PSI)"

/* Reasons that do not depend on the gates. */
static const struct {
        SourceId source;
        SourceOutcome outcome;
        const char *reason;
} fixed_reasons[] = {
        { SOURCE_CGROUP, SOURCE_OUTCOME_unsupported,
          "this host has no cgroup v2 hierarchy, only version 1 or none" },
        { SOURCE_CGROUP, SOURCE_OUTCOME_malformed,
          "the paths of some cgroups are longer than the 4095 bytes that the kernel prints, or "
          "could not be parsed" },
        { SOURCE_SMAPS_ROLLUP, SOURCE_OUTCOME_unsupported,
          "this kernel has no /proc/PID/smaps_rollup: it came with Linux 4.14 and needs "
          "CONFIG_PROC_PAGE_MONITOR" },
        { SOURCE_HOST_PRESSURE, SOURCE_OUTCOME_unsupported, NO_PRESSURE },
        { SOURCE_HOST_MEMORY, SOURCE_OUTCOME_unsupported,
          "this kernel has no /proc/vmstat: it was built without CONFIG_VM_EVENT_COUNTERS" },
        { SOURCE_HOST_DISK, SOURCE_OUTCOME_unsupported,
          "this kernel has no /proc/diskstats: it was built without CONFIG_BLOCK" },
        { SOURCE_CGROUP_PRESSURE, SOURCE_OUTCOME_unsupported, NO_PRESSURE },
};

static const char *const general_reasons[_SOURCE_OUTCOME_MAX] = {
        [SOURCE_OUTCOME_ok] = "",
        [SOURCE_OUTCOME_vanished] = "",
        [SOURCE_OUTCOME_denied] = "reading some of it was denied: " REASON_RUN_PRIVILEGED,
        [SOURCE_OUTCOME_unsupported] = "this kernel does not have all of it",
        [SOURCE_OUTCOME_malformed] = "some of it could not be parsed and is left out",
        [SOURCE_OUTCOME_other] = "some of it could not be read: memory or descriptors ran out, or "
                                 "the kernel reported an error",
};

static const char *const network_reasons[] = {
        [HOST_NETWORK_FOREIGN_PIDS] =
                "/proc shows no thread of the kernel, so that it cannot be known whose network "
                "process 1 is in: run ctprofd on the host, not in a container",
        [HOST_NETWORK_OTHER_NAMESPACE] =
                "process 1 is in another network namespace than the kernel's own threads, so its "
                "interfaces are not the host's",
        [HOST_NETWORK_DENIED] = "reading /proc/1/net needs CAP_SYS_PTRACE: " REASON_RUN_PRIVILEGED,
        [HOST_NETWORK_NO_FILES] = "this kernel was built without CONFIG_NET",
};

/* NULL: there is nothing special to say. */
static const char *find_reason(const SourceReport *report, SourceId id, SourceOutcome cause) {
        const Gates *gates = report->gates;
        /* A /proc that shows only processes does not have these. */
        bool is_of_host = id == SOURCE_HOST || id == SOURCE_HOST_PRESSURE ||
                          id == SOURCE_HOST_CPU || id == SOURCE_HOST_MEMORY ||
                          id == SOURCE_HOST_DISK;

        if (is_of_host && gates->only_processes && cause == SOURCE_OUTCOME_unsupported)
                return REASON_ONLY_PROCESSES;
        if (id == SOURCE_SMAPS_ROLLUP && cause == SOURCE_OUTCOME_denied) {
                if (gates->in_user_namespace)
                        return REASON_IN_USER_NAMESPACE;
                if (gates->has_sys_ptrace)
                        return "/proc/PID/smaps_rollup of some processes is refused even with "
                               "CAP_SYS_PTRACE: a security policy protects them";
                return "reading other users' /proc/PID/smaps_rollup needs "
                       "CAP_SYS_PTRACE: " REASON_RUN_PRIVILEGED;
        }
        if (id == SOURCE_CGROUP && cause == SOURCE_OUTCOME_unsupported &&
            report->tally->counts[id][SOURCE_OUTCOME_ok] > 0)
                return NULL; /* the host has them */
        if (id == SOURCE_CGROUP && !gates->has_file[SOURCE_CGROUP])
                return "this kernel was built without CONFIG_CGROUPS";
        if (id == SOURCE_CGROUP_STATS && cause == SOURCE_OUTCOME_unsupported &&
            report->tally->n_groups_outside > 0)
                return "some cgroups lie outside of the cgroup namespace or mount that can be seen "
                       "from here";
        for (size_t i = 0; i < ELEMENTSOF(fixed_reasons); i++)
                if (fixed_reasons[i].source == id && fixed_reasons[i].outcome == cause)
                        return fixed_reasons[i].reason;
        return NULL;
}

/* The most frequent failure: one sentence has room for one cause. */
static SourceOutcome find_cause(const Source *source) {
        static const SourceOutcome failures[] = {
                SOURCE_OUTCOME_denied,
                SOURCE_OUTCOME_unsupported,
                SOURCE_OUTCOME_malformed,
                SOURCE_OUTCOME_other,
        };
        SourceOutcome cause = SOURCE_OUTCOME_ok;
        uint64_t most = 0;

        for (size_t i = 0; i < ELEMENTSOF(failures); i++)
                if (source->counts[failures[i]] > most) {
                        most = source->counts[failures[i]];
                        cause = failures[i];
                }
        return cause;
}

/* Says one thing more, where one sentence has room for both. */
static void source_join(Source *source, const char *text) {
        size_t n = strlen(source->reason);

        if (n == 0 || n + strlen(text) + 2 < sizeof(source->reason))
                (void) snprintf(source->reason + n, sizeof(source->reason) - n, "%s%s",
                                n > 0 ? "; " : "", text);
}

static void judge_smaps(const SourceReport *report, Source *source) {
        char text[SOURCE_REASON_BYTES];
        const Tally *tally = report->tally;

        if (report->smaps->mode == SMAPS_MODE_NONE) {
                source_set(source, SOURCE_STATE_NOT_REQUESTED, "the capture was asked to skip it");
                return;
        }
        if (tally->n_smaps_skipped > 0) {
                source_set(source, source->state,
                           "%" PRIu64 " process%s left out: late, of an owner who was, or after "
                           "the time budget of %" PRIu64 " ms; --smaps=none skips all",
                           tally->n_smaps_skipped, tally->n_smaps_skipped == 1 ? "" : "es",
                           report->smaps->limit_ns / NSEC_PER_MSEC);
                return;
        }
        if (tally->n_smaps_large == 0)
                return;
        (void) snprintf(
                text, sizeof(text),
                "%" PRIu64 " process%s of more than %" PRIu64 " MiB, the largest of %" PRIu64
                " MiB, left out, as reading stalls large ones: " SOURCE_REMEDY_SMAPS " reads all",
                tally->n_smaps_large, tally->n_smaps_large == 1 ? "" : "es",
                report->smaps->largest.max_bytes >> 20, tally->smaps_largest_bytes >> 20);
        /* The general reason of this very failure says less. */
        if (find_cause(source) == SOURCE_OUTCOME_other)
                source->reason[0] = '\0';
        source_join(source, text);
}

static void judge_cgroups(const SourceReport *report, Source *stats, Source *pressure) {
        const uint64_t *host = report->tally->counts[SOURCE_HOST_PRESSURE];
        Source *const both[] = { pressure, stats };
        char text[SOURCE_REASON_BYTES];

        if (!source_was_tried(pressure))
                source_set(pressure, SOURCE_STATE_UNAVAILABLE, "%s",
                           host[SOURCE_OUTCOME_ok] > 0 || report->gates->only_processes
                                   ? "no cgroup has pressure files: the root has none, "
                                     "and cgroup_disable=pressure removes the others"
                                   : NO_PRESSURE);
        for (size_t i = 0; report->cgroup_mount != 0 && i < ELEMENTSOF(both); i++)
                source_set(both[i], SOURCE_STATE_UNAVAILABLE, "%s",
                           report->cgroup_mount == CGROUPFS_E_NO_MOUNT
                                   ? "no cgroup v2 hierarchy is mounted: " SOURCE_REMEDY_CGROUP
                                   : "the cgroup v2 hierarchy cannot be opened");
        if (!report->cgroup_v1 || report->cgroup_v1[0] == '\0')
                return;
        /*
         * A host that keeps controllers in version 1 has cgroups in version 2 all the same, without
         * what those controllers count: "ok" would be wrong.
         */
        (void) snprintf(text, sizeof(text),
                        "%s: version 1 controllers here, which are not read, and version 2 lacks "
                        "them",
                        report->cgroup_v1);
        if (stats->state == SOURCE_STATE_OK)
                stats->state = SOURCE_STATE_PARTIAL;
        source_join(stats, text);
}

/* Continues the sentence of a source, as far as there is room. */
_printf_(2, 3) static void source_add(Source *source, const char *format, ...) {
        size_t n = strlen(source->reason);
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(source->reason + n, sizeof(source->reason) - n, format, arguments);
        va_end(arguments);
}

/* @setting: of ctprofd.conf, with which the program would have been loaded. */
static void judge_absent_program(const SourceReport *report, const char *setting, Source *source) {
        if (report->no_ledger)
                source_set(source, SOURCE_STATE_UNAVAILABLE, "%s", report->no_ledger);
        else if (report->ledger && report->backend->sources[SOURCE_STAT] == SOURCE_BACKEND_BPF)
                source_set(source, SOURCE_STATE_NOT_REQUESTED,
                           "ctprofd was started with %s=off in ctprofd.conf", setting);
        else
                source_set(source, SOURCE_STATE_NOT_REQUESTED,
                           "files of /proc tell nothing of it; a capture through BPF does");
}

/* Names the owners whose rows were put together: nobody else's names are missing. */
static void add_losses(const SourceReport *report, Source *source) {
        LedgerLoss losses[LEDGER_MAX_LOSSES];
        uint64_t grew_ns;
        size_t n = 0;

        if (ledger_find_losses(report->ledger, losses, &n, &grew_ns) < 0 || n == 0)
                return;
        source_add(source,
                   "; %" PRIu64 " rows were put together, and %" PRIu64
                   " threads found none of their own, ",
                   report->ledger->n_folded, report->ledger->n_overflow);
        if (losses[0].owner == LEDGER_OTHERS)
                source_add(source, "of several users");
        else
                source_add(source, "of uid %" PRIu32, losses[0].owner);
        if (n > 1)
                source_add(source, " and %zu other%s", n - 1, n > 2 ? "s" : "");
}

/* Messages of taskstats do not tell everything, and some of them may be lost. */
static void judge_messages(const SourceReport *report, Source *source) {
        uint64_t n_losses = 0, n_overflow = 0;

        source->backend = SOURCE_BACKEND_TASKSTATS;
        if (!report->is_trial) {
                source->counts[SOURCE_OUTCOME_ok] = report->ledger->n_exits;
                n_losses = ledger_n_losses(report->ledger);
                n_overflow = report->ledger->n_overflow;
                source->counts[SOURCE_OUTCOME_other] = n_losses;
        }
        source_set(
                source, SOURCE_STATE_PARTIAL, "%s",
                "taskstats tells of them, without work after the message of a thread (3 to 75 % of "
                "the CPU time of short lives), cgroups and I/O");
        if (n_losses > 0)
                source_add(source,
                           "; %" PRIu64 " times some exits were lost, their number is unknown",
                           n_losses);
        if (n_overflow > 0 || (!report->is_trial && report->ledger->n_folded > 0))
                add_losses(report, source);
}

static void judge_exits(const SourceReport *report, Source *source) {
        const LedgerControl *control;
        uint64_t n_lost, n_overflow;

        if (report->hears_exits) {
                judge_messages(report, source);
                return;
        }
        if (report->no_exits && !(report->ledger && ledger_is_kept(report->ledger))) {
                source_set(source, SOURCE_STATE_UNAVAILABLE, "%s", report->no_exits);
                return;
        }
        if (!report->ledger || !ledger_is_kept(report->ledger)) {
                judge_absent_program(report, "ExitAccounting", source);
                return;
        }
        if (report->is_trial) {
                source_set(source, SOURCE_STATE_OK, "%s", "");
                return;
        }
        if (!report->ledger->is_read) {
                source_set(source, SOURCE_STATE_UNAVAILABLE,
                           "the ledger of threads that ended could not be read");
                return;
        }
        control = report->ledger->control;
        n_lost = report->ledger->n_lost;
        n_overflow = report->ledger->n_overflow;
        source->counts[SOURCE_OUTCOME_ok] = report->ledger->n_exits;
        source->counts[SOURCE_OUTCOME_other] = n_lost + control->n_lost_marks;
        if (n_overflow > 0 || report->ledger->n_folded > 0) {
                source_set(source, SOURCE_STATE_PARTIAL,
                           "threads have ended under many names or in many cgroups");
                add_losses(report, source);
        } else if (source->counts[SOURCE_OUTCOME_other] > 0)
                source_set(source, SOURCE_STATE_PARTIAL,
                           "of %" PRIu64 " threads that ended some or all of their work is missing "
                           "here: too many ended at once",
                           source->counts[SOURCE_OUTCOME_other]);
        else
                source_set(source, SOURCE_STATE_OK, "%s", "");
}

static void judge_reasons(const SourceReport *report, Source *source) {
        uint64_t n_lost;

        if (!report->ledger || report->ledger->control->waits_since_ns == 0) {
                judge_absent_program(report, "WaitAccounting", source);
                return;
        }
        if (report->is_trial) {
                source_set(source, SOURCE_STATE_OK, "%s", "");
                return;
        }
        if (report->lost_reasons) {
                source_set(source, SOURCE_STATE_UNAVAILABLE,
                           "the account of waits by reason was switched off during the capture");
                return;
        }
        if (report->reason_epoch == 0) {
                if (report->no_reasons)
                        source_set(source, SOURCE_STATE_NOT_REQUESTED, "%s", report->no_reasons);
                else
                        source_set(source, SOURCE_STATE_UNAVAILABLE,
                                   "the account of waits by reason could not be switched on");
                return;
        }
        n_lost = report->ledger->control->reasons.n_lost;
        if (n_lost > 0)
                source_set(source, SOURCE_STATE_PARTIAL,
                           "the kernel had no memory to note the beginning of %" PRIu64 " waits",
                           n_lost);
}

void source_report_write(const SourceReport *report, SourceTable *ret) {
        Source *sources = ret->sources, *sched_ext = &sources[SOURCE_SCHED_EXT];

        *ret = (SourceTable){};
        for (unsigned i = 0; i < _SOURCE_MAX; i++) {
                SourceId id = (SourceId) i;
                Source *source = &sources[id];
                SourceOutcome cause;
                const char *reason;

                memcpy(source->counts, report->tally->counts[id], sizeof(source->counts));
                source->backend = report->backend->sources[id];
                cause = find_cause(source);
                reason = find_reason(report, id, cause);
                if (cause == SOURCE_OUTCOME_ok)
                        source_set(source, SOURCE_STATE_OK, "%s", "");
                else
                        source_set(source,
                                   source->counts[SOURCE_OUTCOME_ok] > 0 ? SOURCE_STATE_PARTIAL
                                                                         : SOURCE_STATE_UNAVAILABLE,
                                   "%s", reason ? reason : general_reasons[cause]);
                report->backend->explain(report->gates, report->tally, id, cause, source);
        }
        judge_smaps(report, &sources[SOURCE_SMAPS_ROLLUP]);
        judge_cgroups(report, &sources[SOURCE_CGROUP_STATS], &sources[SOURCE_CGROUP_PRESSURE]);
        if (report->sched_ext == TEXT_E_ABSENT)
                source_set(sched_ext, SOURCE_STATE_NOT_APPLICABLE,
                           "this kernel was built without CONFIG_SCHED_CLASS_EXT");
        else if (report->sched_ext != 0)
                source_set(sched_ext, SOURCE_STATE_UNAVAILABLE,
                           "/sys/kernel/sched_ext cannot be opened");
        if (report->record->network != HOST_NETWORK_THERE)
                source_set(&sources[SOURCE_HOST_NETWORK], SOURCE_STATE_UNAVAILABLE, "%s",
                           network_reasons[report->record->network]);
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                if (report->record->too_large[i])
                        source_set(&sources[host_parts[i].source], SOURCE_STATE_UNAVAILABLE,
                                   "this host has more than fits into a snapshot: %u MiB of text",
                                   (unsigned) (SNAPSHOT_MAX_VALUE_BYTES >> 20));
        judge_exits(report, &sources[SOURCE_EXITS]);
        if (!report->ledger || report->ledger->control->waits_since_ns == 0)
                judge_absent_program(report, "WaitAccounting", &sources[SOURCE_WAITS]);
        judge_reasons(report, &sources[SOURCE_REASONS]);
        heap_explain(report->heap, &sources[SOURCE_JEMALLOC]);
        heap_explain_commands(report->heap, &sources[SOURCE_CMDLINE]);
}
