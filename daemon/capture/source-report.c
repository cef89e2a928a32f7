/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/source-report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/procfs.h"

#define PRIVILEGED "run ctprofd as root or as ctprofd.service"
#define TASKSTATS_DENIED "taskstats needs CAP_NET_ADMIN in the initial user namespace: " PRIVILEGED
#define FOREIGN_PIDS                                                                              \
        "/proc is of another pid namespace than this process, so threads cannot be asked for by " \
        "their numbers"
#define IN_USER_NAMESPACE \
        "capabilities of a user namespace do not reach the processes outside of it: " PRIVILEGED
#define ONLY_PROCESSES                                                                             \
        "/proc is mounted with subset=pid and shows nothing of the host but its processes: mount " \
        "it without"
#define NO_PRESSURE \
        "pressure stall information is off: boot with psi=1 (a kernel built with CONFIG_PSI)"

/* What is known of a source and an outcome whatever the gates say. */
static const struct {
        SourceId source;
        SourceOutcome outcome;
        const char *reason;
} fixed_reasons[] = {
        { SOURCE_STAT, SOURCE_OUTCOME_denied,
          "/proc is mounted with hidepid: threads of other users are hidden from a reader without "
          "CAP_SYS_PTRACE" },
        { SOURCE_SCHEDSTAT, SOURCE_OUTCOME_unsupported,
          "this kernel was built without CONFIG_SCHED_INFO" },
        { SOURCE_SCHED, SOURCE_OUTCOME_unsupported,
          "this kernel has no /proc/PID/sched: it was built without CONFIG_SCHED_DEBUG" },
        { SOURCE_IO, SOURCE_OUTCOME_unsupported,
          "this kernel was built without CONFIG_TASK_IO_ACCOUNTING" },
        { SOURCE_CGROUP, SOURCE_OUTCOME_unsupported,
          "this host has no cgroup v2 hierarchy, only version 1 or none" },
        { SOURCE_CGROUP, SOURCE_OUTCOME_malformed,
          "the paths of some cgroups are longer than the 4095 bytes that the kernel tells of them, "
          "or were not in their grammar" },
        { SOURCE_SMAPS_ROLLUP, SOURCE_OUTCOME_unsupported,
          "this kernel has no /proc/PID/smaps_rollup: it came with Linux 4.14 and needs "
          "CONFIG_PROC_PAGE_MONITOR" },
        { SOURCE_HOST_PRESSURE, SOURCE_OUTCOME_unsupported, NO_PRESSURE },
        { SOURCE_CGROUP_PRESSURE, SOURCE_OUTCOME_unsupported, NO_PRESSURE },
};

static const char *const general_reasons[_SOURCE_OUTCOME_MAX] = {
        [SOURCE_OUTCOME_ok] = "",
        [SOURCE_OUTCOME_vanished] = "",
        [SOURCE_OUTCOME_denied] = "reading it was denied for some: " PRIVILEGED,
        [SOURCE_OUTCOME_unsupported] = "this kernel does not have it for all",
        [SOURCE_OUTCOME_malformed] = "some of it was not in its grammar and is left out",
        [SOURCE_OUTCOME_other] = "some of it could not be read, for want of memory or descriptors "
                                 "or by an error of the kernel",
};

static const char *schedstats_reason(const Gates *gates) {
        if (!gates->has_file[SOURCE_SCHED])
                return "this kernel has no /proc/PID/sched: it was built without "
                       "CONFIG_SCHED_DEBUG";
        if (!gates->has_sysctl_schedstats)
                return "this kernel was built without CONFIG_SCHEDSTATS";
        if (!gates->schedstats_on)
                return "schedstats are off: sysctl kernel.sched_schedstats=1";
        return "schedstats were switched on or off during the capture";
}

/* By whether we have CAP_SYS_PTRACE, and whether CAP_DAC_READ_SEARCH. */
static const char *io_denied_reason(const Gates *gates) {
        static const char *const reasons[2][2] = {
                { "reading other users' /proc/PID/io needs CAP_SYS_PTRACE and "
                  "CAP_DAC_READ_SEARCH: " PRIVILEGED,
                  "reading other users' /proc/PID/io needs CAP_SYS_PTRACE beside "
                  "CAP_DAC_READ_SEARCH: " PRIVILEGED },
                { "reading other users' /proc/PID/io needs CAP_DAC_READ_SEARCH beside "
                  "CAP_SYS_PTRACE: " PRIVILEGED,
                  "/proc/PID/io of some processes is refused even with CAP_SYS_PTRACE and "
                  "CAP_DAC_READ_SEARCH: a security policy protects them" },
        };

        if (gates->in_user_namespace)
                return IN_USER_NAMESPACE;
        return reasons[gates->has_sys_ptrace][gates->has_dac_read_search];
}

static const char *smaps_denied_reason(const Gates *gates) {
        if (gates->in_user_namespace)
                return IN_USER_NAMESPACE;
        if (gates->has_sys_ptrace)
                return "/proc/PID/smaps_rollup of some processes is refused even with "
                       "CAP_SYS_PTRACE: a security policy protects them";
        return "reading other users' /proc/PID/smaps_rollup needs CAP_SYS_PTRACE: " PRIVILEGED;
}

static const char *taskstats_reason(const Gates *gates, SourceOutcome outcome) {
        if (gates->foreign_pids)
                return FOREIGN_PIDS;
        if (outcome == SOURCE_OUTCOME_denied)
                return TASKSTATS_DENIED;
        if (gates->taskstats == -EPROTO)
                return "struct taskstats of this kernel is too old to be read: before version 8";
        if (outcome == SOURCE_OUTCOME_unsupported)
                return "this kernel was built without CONFIG_TASKSTATS";
        return NULL;
}

static const char *delay_reason(const Gates *gates, SourceOutcome outcome) {
        if (gates->taskstats != 0 || !gates->taskstats_asked ||
            outcome != SOURCE_OUTCOME_unsupported)
                return taskstats_reason(gates, outcome);
        if (!gates->has_delay_members)
                return "this kernel was built without CONFIG_TASK_DELAY_ACCT";
        if (gates->delay_trust == DELAY_TRUST_COUNTED)
                return "delay accounting is off: boot with delayacct, or sysctl "
                       "kernel.task_delayacct=1 for tasks started from then on";
        return "threads without any delay may predate kernel.task_delayacct=1: boot with delayacct "
               "to account all threads from their start";
}

static const char *irq_reason(const Gates *gates, SourceOutcome outcome) {
        if (gates->taskstats != 0 || !gates->taskstats_asked ||
            outcome != SOURCE_OUTCOME_unsupported)
                return taskstats_reason(gates, outcome);
        if (!gates->irq_time_accounted && !gates->has_pressure)
                return "whether interrupt time is accounted is not known without "
                       "/proc/pressure/irq: "
                       "boot with psi=1 (and CONFIG_IRQ_TIME_ACCOUNTING)";
        return delay_reason(gates, outcome);
}

/* Of what it takes the files of the host to read, or to know what was read. */
static bool needs_host(const Gates *gates, SourceId id) {
        switch ((unsigned) id) {
        case SOURCE_HOST:
        case SOURCE_HOST_PRESSURE:
                return true;
        case SOURCE_SCHEDSTATS:
                return gates->has_file[SOURCE_SCHED];
        case SOURCE_TASKSTATS_DELAY:
        case SOURCE_TASKSTATS_IRQ:
                return gates->taskstats == 0 && gates->taskstats_asked && gates->has_delay_members;
        default:
                return false;
        }
}

/* NULL when there is nothing special to say. */
static const char *gated_reason(const SourceReport *report, SourceId id, SourceOutcome outcome) {
        const Gates *gates = report->gates;

        if (gates->only_processes && outcome == SOURCE_OUTCOME_unsupported && needs_host(gates, id))
                return ONLY_PROCESSES;
        if (id == SOURCE_TASKSTATS)
                return taskstats_reason(gates, outcome);
        if (id == SOURCE_TASKSTATS_DELAY)
                return delay_reason(gates, outcome);
        if (id == SOURCE_TASKSTATS_IRQ)
                return irq_reason(gates, outcome);
        if (id == SOURCE_SCHEDSTATS && outcome == SOURCE_OUTCOME_unsupported)
                return schedstats_reason(gates);
        if (id == SOURCE_IO && outcome == SOURCE_OUTCOME_denied)
                return io_denied_reason(gates);
        if (id == SOURCE_SMAPS_ROLLUP && outcome == SOURCE_OUTCOME_denied)
                return smaps_denied_reason(gates);
        if (id == SOURCE_AFFINITY && gates->foreign_pids)
                return FOREIGN_PIDS;
        if (id == SOURCE_CGROUP && outcome == SOURCE_OUTCOME_unsupported &&
            report->tally->counts[id][SOURCE_OUTCOME_ok] > 0)
                return NULL; /* the host has them */
        if (id == SOURCE_CGROUP && !gates->has_file[SOURCE_CGROUP])
                return "this kernel was built without CONFIG_CGROUPS";
        if (id == SOURCE_CGROUP_STATS && outcome == SOURCE_OUTCOME_unsupported &&
            report->tally->n_groups_outside > 0)
                return "some cgroups lie outside of the cgroup namespace or mount that can be seen "
                       "from here";
        for (size_t i = 0; i < ELEMENTSOF(fixed_reasons); i++)
                if (fixed_reasons[i].source == id && fixed_reasons[i].outcome == outcome)
                        return fixed_reasons[i].reason;
        return NULL;
}

static void set_state(Source *source, SourceState state, const char *reason) {
        source->state = state;
        (void) snprintf(source->reason, sizeof(source->reason), "%s", reason);
}

/* What most of the failures were, for one sentence has room for one cause. */
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

/* The rule that holds for every source. */
static void judge(const SourceReport *report, SourceId id, Source *source) {
        SourceOutcome cause = find_cause(source);
        const char *reason;

        if (cause == SOURCE_OUTCOME_ok) {
                set_state(source, SOURCE_STATE_OK, "");
                return;
        }
        reason = gated_reason(report, id, cause);
        set_state(source,
                  source->counts[SOURCE_OUTCOME_ok] > 0 ? SOURCE_STATE_PARTIAL
                                                        : SOURCE_STATE_UNAVAILABLE,
                  reason ? reason : general_reasons[cause]);
}

static bool was_tried(const Source *source) {
        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                if (source->counts[i] != 0)
                        return true;
        return false;
}

static void judge_stat(const SourceReport *report, Source *source) {
        if (report->processes_hidden)
                set_state(source, SOURCE_STATE_PARTIAL,
                          "/proc is mounted with hidepid: processes of other users are hidden from "
                          "a reader without CAP_SYS_PTRACE");
}

static void judge_smaps(const SourceReport *report, Source *source) {
        if (!report->smaps_wanted)
                set_state(source, SOURCE_STATE_NOT_REQUESTED, "the capture was asked to skip it");
        else if (report->tally->n_smaps_skipped > 0)
                (void) snprintf(source->reason, sizeof(source->reason),
                                "the time budget of %" PRIu64 " ms was used up and %" PRIu64
                                " processes were left out; --no-smaps skips all",
                                report->smaps_limit_ns / NSEC_PER_MSEC,
                                report->tally->n_smaps_skipped);
}

/* Not knowing which zeros are measurements leaves some of it read, even where none was. */
static void judge_delay(const SourceReport *report, Source *source) {
        const Gates *gates = report->gates;

        if (source->state == SOURCE_STATE_UNAVAILABLE && gates->taskstats == 0 &&
            gates->taskstats_asked && gates->has_delay_members &&
            gates->delay_trust == DELAY_TRUST_YOUNG)
                source->state = SOURCE_STATE_PARTIAL;
}

static void judge_irq(const SourceReport *report, Source *source) {
        const Gates *gates = report->gates;

        if (source->counts[SOURCE_OUTCOME_ok] > 0 && !gates->irq_time_accounted)
                set_state(source, SOURCE_STATE_PARTIAL,
                          "irq delays of 0 are left out: that interrupt time is accounted shows in "
                          "other threads only, for /proc/pressure/irq is missing");
        if (was_tried(source))
                return;
        if (gates->taskstats == 0 && gates->taskstats_asked && !gates->has_irq_members) {
                source->state = SOURCE_STATE_NOT_APPLICABLE;
                (void) snprintf(source->reason, sizeof(source->reason),
                                "struct taskstats of this kernel (version %u) has no irq delays: "
                                "they came with version 14",
                                gates->taskstats_version);
        } else
                set_state(source, SOURCE_STATE_NOT_APPLICABLE,
                          "this kernel does not account interrupt time: "
                          "CONFIG_IRQ_TIME_ACCOUNTING is off");
}

static void judge_cgroup(const SourceReport *report, Source *source) {
        if (report->cgroup_mount == CGROUPFS_E_NO_MOUNT)
                set_state(source, SOURCE_STATE_UNAVAILABLE,
                          "no cgroup v2 hierarchy is mounted: mount -t cgroup2 none "
                          "/sys/fs/cgroup/unified");
        else if (report->cgroup_mount != 0)
                set_state(source, SOURCE_STATE_UNAVAILABLE,
                          "the cgroup v2 hierarchy cannot be opened");
}

static void judge_cgroup_pressure(const SourceReport *report, Source *source) {
        const uint64_t *host = report->tally->counts[SOURCE_HOST_PRESSURE];

        if (!was_tried(source))
                set_state(source, SOURCE_STATE_UNAVAILABLE,
                          host[SOURCE_OUTCOME_ok] > 0 || report->gates->only_processes
                                  ? "no cgroup has pressure files: not with "
                                    "cgroup_disable=pressure, nor in the root"
                                  : NO_PRESSURE);
        judge_cgroup(report, source);
}

static void judge_sched_ext(const SourceReport *report, Source *source) {
        if (report->sched_ext == PROCFS_E_ABSENT)
                set_state(source, SOURCE_STATE_NOT_APPLICABLE,
                          "this kernel was built without CONFIG_SCHED_CLASS_EXT");
        else if (report->sched_ext != 0)
                set_state(source, SOURCE_STATE_UNAVAILABLE,
                          "/sys/kernel/sched_ext cannot be opened");
}

void source_report_write(const SourceReport *report, SourceTable *ret) {
        Source *sources = ret->sources;

        *ret = (SourceTable){};
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                memcpy(sources[id].counts, report->tally->counts[id], sizeof(sources[id].counts));
                judge(report, (SourceId) id, &sources[id]);
        }
        judge_stat(report, &sources[SOURCE_STAT]);
        judge_smaps(report, &sources[SOURCE_SMAPS_ROLLUP]);
        judge_delay(report, &sources[SOURCE_TASKSTATS_DELAY]);
        judge_irq(report, &sources[SOURCE_TASKSTATS_IRQ]);
        judge_cgroup(report, &sources[SOURCE_CGROUP_STATS]);
        judge_cgroup_pressure(report, &sources[SOURCE_CGROUP_PRESSURE]);
        judge_sched_ext(report, &sources[SOURCE_SCHED_EXT]);
        set_state(&sources[SOURCE_JEMALLOC], SOURCE_STATE_UNAVAILABLE,
                  "this version does not read allocator counters");
}
