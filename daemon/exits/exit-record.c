/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-record.h"

#include <string.h>
#include <unistd.h>

#include "base/number.h"

#define KTHREADD 2 /* the parent of all threads of the kernel */
#define EVERY_GROUP                                                            \
        (TASKSTATS_GROUP_BASIC | TASKSTATS_GROUP_CPU | TASKSTATS_GROUP_DELAY | \
         TASKSTATS_GROUP_IRQ | TASKSTATS_GROUP_XACCT)

static const struct {
        MetricId metric;
        unsigned sum;
} sums[] = {
        { METRIC_run_time_ns, LEDGER_RUN_NS },
        { METRIC_wait_time_ns, LEDGER_RUN_DELAY_NS },
        { METRIC_timeslices, LEDGER_N_RUNS },
        { METRIC_voluntary_csw, LEDGER_N_VOLUNTARY },
        { METRIC_nonvoluntary_csw, LEDGER_N_INVOLUNTARY },
        { METRIC_acct_utime_ns, LEDGER_USER_NS },
        { METRIC_acct_stime_ns, LEDGER_SYSTEM_NS },
};

#define DELAY_ROW(id, word)               \
        { TASK_DELAY_##id,                \
          LEDGER_N_DELAYS_##id,           \
          LEDGER_DELAY_NS_##id,           \
          LEDGER_DELAY_MAX_##id,          \
          LEDGER_DELAY_MIN_##id,          \
          METRIC_##word##_delay_count,    \
          METRIC_##word##_delay_total_ns, \
          METRIC_##word##_delay_max_ns,   \
          METRIC_##word##_delay_min_ns },
static const struct {
        unsigned kind, count, total, max, min;
        MetricId count_id, total_id, max_id, min_id;
} delays[] = { TASK_DELAY_KINDS(DELAY_ROW) };

/* 0 for what was not sent; whether it was, the bits in @has tell. */
static uint64_t value_of(const ThreadSample *sample, MetricId id) {
        return thread_sample_has(sample, id) ? thread_sample_get(sample, id) : 0;
}

static uint64_t member_of(const Taskstats *stats, TaskstatsMember member) {
        uint64_t value = 0;

        (void) taskstats_get(stats, member, &value);
        return value;
}

/*
 * The kernel fills these members with 0 where it was built without what counts them. A thread that
 * ends has run, so its run time tells which it is.
 */
static void take_run_delay(const ThreadSample *sample, LedgerValues *values) {
        if (values->sums[LEDGER_RUN_NS] == 0)
                return;
        values->has |= TASK_HAS_RUN_DELAY;
        if (!thread_sample_has(sample, METRIC_cpu_delay_min_ns))
                return;
        values->has |= TASK_HAS_RUN_DELAY_PEAKS;
        values->maxima[LEDGER_RUN_DELAY_MAX] = value_of(sample, METRIC_cpu_delay_max_ns);
        values->minima[LEDGER_RUN_DELAY_MIN] = value_of(sample, METRIC_cpu_delay_min_ns);
}

static void take_delays(const ThreadSample *sample, LedgerValues *values) {
        for (size_t i = 0; i < ELEMENTSOF(delays); i++) {
                if (!thread_sample_has(sample, delays[i].total_id))
                        continue;
                values->has |= LEDGER_HAS_DELAY(delays[i].kind);
                values->sums[delays[i].count] = value_of(sample, delays[i].count_id);
                values->sums[delays[i].total] = value_of(sample, delays[i].total_id);
                if (!thread_sample_has(sample, delays[i].min_id))
                        continue;
                values->has |= LEDGER_HAS_DELAY_PEAKS;
                values->maxima[delays[i].max] = value_of(sample, delays[i].max_id);
                values->minima[delays[i].min] = value_of(sample, delays[i].min_id);
        }
}

/* As in ledger.bpf.h: a delay longer than the life is that of a thread without accounting. */
static void drop_impossible_delays(LedgerValues *values) {
        uint64_t most =
                number_add_saturating(values->lives_ns + (values->lives_ns >> 10), TASK_TICK_NS);
        bool is_impossible = false;

        for (size_t i = 0; i < ELEMENTSOF(delays); i++)
                is_impossible = is_impossible || values->sums[delays[i].total] > most ||
                                values->maxima[delays[i].max] > most;
        if (!is_impossible)
                return;
        values->accounted = 0;
        for (size_t i = 0; i < ELEMENTSOF(delays); i++) {
                values->sums[delays[i].count] = values->sums[delays[i].total] = 0;
                values->maxima[delays[i].max] = values->minima[delays[i].min] = 0;
        }
}

/* Megabyte-microseconds as the kernel makes them of pages x ns / 1024, the unit of the ledger. */
static uint64_t integral_of(uint64_t mb_us, uint64_t page_bytes) {
        uint64_t scaled = number_multiply_saturating(mb_us, 1000 * 1024);

        return scaled / page_bytes + (scaled % page_bytes != 0);
}

/* Only for a thread with memory, so that 0 never is a measurement. */
static void take_memory(const ThreadSample *sample, LedgerValues *values) {
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);

        if (!thread_sample_has(sample, METRIC_hiwater_vm_bytes))
                return;
        values->has |= TASK_HAS_INTEGRALS;
        values->sums[LEDGER_RSS_INTEGRAL] =
                integral_of(value_of(sample, METRIC_acct_rss_mb_us), page_bytes);
        values->sums[LEDGER_VM_INTEGRAL] =
                integral_of(value_of(sample, METRIC_acct_vm_mb_us), page_bytes);
        values->maxima[LEDGER_RSS_PEAK] = value_of(sample, METRIC_hiwater_rss_bytes) / page_bytes;
        values->maxima[LEDGER_VM_PEAK] = value_of(sample, METRIC_hiwater_vm_bytes) / page_bytes;
}

static LedgerValues values_of(const Taskstats *stats, const ExitContext *context) {
        LedgerValues values = { .has = LEDGER_OF_MESSAGES, .exits = 1 };
        ThreadSample sample;

        thread_sample_clear(&sample);
        taskstats_put_metrics(stats, EVERY_GROUP, &sample);
        for (size_t i = 0; i < ELEMENTSOF(sums); i++)
                values.sums[sums[i].sum] = value_of(&sample, sums[i].metric);
        values.sums[LEDGER_N_MINOR_FAULTS] = member_of(stats, TASKSTATS_MINOR_FAULTS);
        values.sums[LEDGER_N_MAJOR_FAULTS] = member_of(stats, TASKSTATS_MAJOR_FAULTS);
        take_run_delay(&sample, &values);
        take_delays(&sample, &values);
        take_memory(&sample, &values);
        values.accounted = taskstats_has_delays(stats);
        /* The kernel takes it from CLOCK_MONOTONIC, so time of the host's sleep is missing. */
        values.lives_ns = value_of(&sample, METRIC_acct_elapsed_ns);
        drop_impossible_delays(&values);
        if (context->now_ns - MIN_OF(context->now_ns, values.lives_ns) >= context->begun_ns) {
                values.young = 1;
                values.young_run_ns = values.sums[LEDGER_RUN_NS];
        }
        return values;
}

/* A thread of the kernel has no memory, and kthreadd has made it. */
static bool is_of_kernel(const Taskstats *stats, pid_t tid) {
        uint64_t vm_kib;

        return (tid == KTHREADD || member_of(stats, TASKSTATS_PPID) == KTHREADD) &&
               (!taskstats_get(stats, TASKSTATS_HIWATER_VM_KIB, &vm_kib) || vm_kib == 0);
}

/* A message does not tell when the process began, so its number alone counts. */
static bool is_of_caller(const ExitContext *context, pid_t tgid) {
        return context->own && tgid > 0 &&
               ledger_own_has(context->own, (unsigned) tgid, LEDGER_OWN_ANY_START,
                              context->now_ns) != 0;
}

static bool is_own(const ExitContext *context, pid_t tgid, pid_t parent) {
        return context->self > 0 &&
               (tgid == context->self || parent == context->self || is_of_caller(context, tgid));
}

/* As listeners of the initial user namespace see it: the only ones there are. */
static uint32_t find_owner(const Taskstats *stats, const ExitContext *context) {
        uint32_t uid = (uint32_t) member_of(stats, TASKSTATS_UID);

        return context->subordinates ? subordinates_find_owner(context->subordinates, uid) : uid;
}

ExitRecord exit_record_of(const TaskstatsExit *exit, const ExitContext *context) {
        const Taskstats *stats = &exit->stats;
        ExitRecord record = {
                .tid = exit->tid,
                .tgid = (pid_t) member_of(stats, TASKSTATS_TGID),
                .values = values_of(stats, context),
        };
        pid_t parent = (pid_t) member_of(stats, TASKSTATS_PPID);
        char name[TASKSTATS_NAME_BYTES] = "";

        _Static_assert(sizeof(name) == sizeof(record.key.thread), "both are TASK_COMM_LEN");
        /* Bytes behind the end of a name would make two keys of one. */
        if (taskstats_get_name(stats, name))
                memcpy(record.key.thread, name, strnlen(name, sizeof(name)));
        record.key.owner = find_owner(stats, context);
        record.values.born_ns = record.values.grew_ns = context->now_ns;
        if (is_of_kernel(stats, exit->tid))
                record.key.flags |= LEDGER_OF_KERNEL;
        /* Where the kernel does not tell it, at least the first thread has the number. */
        if (is_own(context, record.tgid > 0 ? record.tgid : record.tid, parent))
                record.key.flags |= LEDGER_OF_SELF;
        return record;
}
