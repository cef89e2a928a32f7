/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/procfs/procfs-reasons.h"

#include <errno.h>

#include "capture/scene/backend.h"

#define TASKSTATS_DENIED \
        "taskstats needs CAP_NET_ADMIN in the initial user namespace: " REASON_RUN_PRIVILEGED
#define FOREIGN_PIDS                                                                          \
        "/proc belongs to another pid namespace than this process, so system calls know its " \
        "threads by other numbers"
#define NO_SCHED "this kernel has no /proc/PID/sched: it was built without CONFIG_SCHED_DEBUG"

/* What only a setting of this kernel keeps from being counted. */
static bool schedstats_are_off(const Gates *gates) {
        return gates->has_file[SOURCE_SCHED] && !gates->only_processes &&
               gates->has_sysctl_schedstats && !gates->schedstats_on;
}

static const char *schedstats_reason(const Gates *gates) {
        if (!gates->has_file[SOURCE_SCHED])
                return NO_SCHED;
        if (gates->only_processes)
                return REASON_ONLY_PROCESSES;
        if (!gates->has_sysctl_schedstats)
                return "this kernel was built without CONFIG_SCHEDSTATS";
        if (schedstats_are_off(gates))
                return "schedstats are off: " SOURCE_REMEDY_SCHEDSTATS;
        return "schedstats were switched on or off during the capture";
}

/* The kernel wants both CAP_SYS_PTRACE (first index) and CAP_DAC_READ_SEARCH (second). */
static const char *io_denied_reason(const Gates *gates) {
        static const char *const reasons[2][2] = {
                { "reading other users' /proc/PID/io needs CAP_SYS_PTRACE and "
                  "CAP_DAC_READ_SEARCH: " REASON_RUN_PRIVILEGED,
                  "reading other users' /proc/PID/io needs CAP_SYS_PTRACE beside "
                  "CAP_DAC_READ_SEARCH: " REASON_RUN_PRIVILEGED },
                { "reading other users' /proc/PID/io needs CAP_DAC_READ_SEARCH beside "
                  "CAP_SYS_PTRACE: " REASON_RUN_PRIVILEGED,
                  "/proc/PID/io of some processes is refused even with CAP_SYS_PTRACE and "
                  "CAP_DAC_READ_SEARCH: a security policy protects them" },
        };

        if (gates->in_user_namespace)
                return REASON_IN_USER_NAMESPACE;
        return reasons[gates->has_sys_ptrace][gates->has_dac_read_search];
}

static const char *taskstats_reason(const Gates *gates, SourceOutcome cause) {
        if (gates->foreign_pids)
                return FOREIGN_PIDS;
        if (cause == SOURCE_OUTCOME_denied)
                return TASKSTATS_DENIED;
        if (gates->taskstats == -EPROTO)
                return "struct taskstats of this kernel is too old to be read: before version 8";
        if (cause == SOURCE_OUTCOME_unsupported)
                return "this kernel was built without CONFIG_TASKSTATS";
        return NULL;
}

static bool taskstats_answers(const Gates *gates) {
        return gates->taskstats_asked && gates->taskstats == 0;
}

/* As schedstats_are_off(). */
static bool delays_are_off(const Gates *gates) {
        return taskstats_answers(gates) && gates->has_delay_members && !gates->only_processes &&
               gates->delay_trust == DELAY_TRUST_COUNTED;
}

static const char *delay_reason(const Gates *gates, SourceOutcome cause) {
        if (!taskstats_answers(gates) || cause != SOURCE_OUTCOME_unsupported)
                return taskstats_reason(gates, cause);
        if (!gates->has_delay_members)
                return "this kernel was built without CONFIG_TASK_DELAY_ACCT";
        if (gates->only_processes)
                return REASON_ONLY_PROCESSES;
        if (delays_are_off(gates))
                return "delay accounting is off: " SOURCE_REMEDY_DELAYS_AT_BOOT
                       ", or " SOURCE_REMEDY_DELAYS " for tasks started from then on";
        return "threads without any delay may predate kernel.task_delayacct="
               "1: " SOURCE_REMEDY_DELAYS_AT_BOOT " to account all threads from their start";
}

static bool irq_time_is_unknown(const Gates *gates) {
        return taskstats_answers(gates) && !(gates->has_delay_members && gates->only_processes) &&
               !gates->irq_time_accounted && !gates->has_pressure;
}

static const char *irq_reason(const Gates *gates, SourceOutcome cause) {
        if (cause == SOURCE_OUTCOME_unsupported && irq_time_is_unknown(gates))
                return "without /proc/pressure/irq it is unknown whether interrupt time is "
                       "accounted: " SOURCE_REMEDY_PRESSURE
                       " (a kernel built with CONFIG_IRQ_TIME_ACCOUNTING)";
        return delay_reason(gates, cause);
}

/* NULL: there is nothing special to say. */
static const char *find_reason(const Gates *gates, SourceId id, SourceOutcome cause) {
        switch ((unsigned) id) {
        case SOURCE_STAT:
                if (cause == SOURCE_OUTCOME_denied)
                        return "/proc is mounted with hidepid: threads of other users are hidden "
                               "from a reader without CAP_SYS_PTRACE";
                return NULL;
        case SOURCE_SCHEDSTAT:
                if (cause == SOURCE_OUTCOME_unsupported)
                        return "this kernel was built without CONFIG_SCHED_INFO";
                return NULL;
        case SOURCE_SCHED:
                return cause == SOURCE_OUTCOME_unsupported ? NO_SCHED : NULL;
        case SOURCE_SCHEDSTATS:
                return cause == SOURCE_OUTCOME_unsupported ? schedstats_reason(gates) : NULL;
        case SOURCE_IO:
                if (cause == SOURCE_OUTCOME_unsupported)
                        return "this kernel was built without CONFIG_TASK_IO_ACCOUNTING";
                return cause == SOURCE_OUTCOME_denied ? io_denied_reason(gates) : NULL;
        case SOURCE_AFFINITY:
                return gates->foreign_pids ? FOREIGN_PIDS : NULL;
        case SOURCE_TASKSTATS:
                return taskstats_reason(gates, cause);
        case SOURCE_TASKSTATS_DELAY:
                return delay_reason(gates, cause);
        case SOURCE_TASKSTATS_IRQ:
                return irq_reason(gates, cause);
        default:
                return NULL;
        }
}

/* Whether the reason of what is unsupported names a setting, and not what the kernel lacks. */
static bool is_switched_off(const Gates *gates, SourceId id) {
        switch ((unsigned) id) {
        case SOURCE_SCHEDSTATS:
                return schedstats_are_off(gates);
        case SOURCE_TASKSTATS_DELAY:
                return delays_are_off(gates);
        case SOURCE_TASKSTATS_IRQ:
                return delays_are_off(gates) && !irq_time_is_unknown(gates);
        default:
                return false;
        }
}

static void judge_irq(const Gates *gates, Source *source) {
        if (source->counts[SOURCE_OUTCOME_ok] > 0 && !gates->irq_time_accounted)
                source_set(source, SOURCE_STATE_PARTIAL,
                           "irq delays of 0 are left out: without /proc/pressure/irq only a thread "
                           "with irq delays shows that interrupt time is accounted");
        if (source_was_tried(source))
                return;
        if (taskstats_answers(gates) && !gates->has_irq_members)
                source_set(source, SOURCE_STATE_NOT_APPLICABLE,
                           "struct taskstats of this kernel (version %u) has no irq delays: they "
                           "came with version 14",
                           gates->taskstats_version);
        else
                source_set(source, SOURCE_STATE_NOT_APPLICABLE,
                           "this kernel does not account interrupt time: "
                           "CONFIG_IRQ_TIME_ACCOUNTING is off");
}

void procfs_explain(const Gates *gates, const Tally *tally, SourceId id, SourceOutcome cause,
                    Source *source) {
        const char *reason = cause == SOURCE_OUTCOME_ok ? NULL : find_reason(gates, id, cause);

        if (reason)
                source_set(source, source->state, "%s", reason);
        source->switched_off = cause == SOURCE_OUTCOME_unsupported && is_switched_off(gates, id);
        if (id == SOURCE_STAT && tally->processes_hidden)
                source_set(source, SOURCE_STATE_PARTIAL,
                           "/proc is mounted with hidepid: processes of other users are hidden "
                           "from a reader without CAP_SYS_PTRACE");
        /* Not knowing which zeros are measurements is partial, even where every value was 0. */
        if (id == SOURCE_TASKSTATS_DELAY && source->state == SOURCE_STATE_UNAVAILABLE &&
            taskstats_answers(gates) && gates->has_delay_members &&
            gates->delay_trust == DELAY_TRUST_YOUNG)
                source->state = SOURCE_STATE_PARTIAL;
        if (id == SOURCE_TASKSTATS_IRQ)
                judge_irq(gates, source);
}
