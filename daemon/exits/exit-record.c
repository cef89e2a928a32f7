/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-record.h"

#include <string.h>
#include <unistd.h>

#include "base/number.h"

#define KTHREADD 2 /* the parent of all threads of the kernel */
#define EVERY_GROUP                                                            \
        (TASKSTATS_GROUP_BASIC | TASKSTATS_GROUP_CPU | TASKSTATS_GROUP_DELAY | \
         TASKSTATS_GROUP_IRQ | TASKSTATS_GROUP_XACCT | TASKSTATS_GROUP_FAULTS)

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
        if (values->sums[LEDGER_run_time_ns] == 0)
                return;
        values->has |= TASK_HAS_RUN_DELAY;
        if (!thread_sample_has(sample, METRIC_cpu_delay_min_ns))
                return;
        values->has |= TASK_HAS_RUN_DELAY_PEAKS;
        values->maxima[LEDGER_RUN_DELAY_MAX] = value_of(sample, METRIC_cpu_delay_max_ns);
        values->minima[LEDGER_RUN_DELAY_MIN] = value_of(sample, METRIC_cpu_delay_min_ns);
}

static void take_delays(const ThreadSample *sample, LedgerValues *values) {
        for (unsigned kind = 0; kind < _TASK_DELAY_MAX; kind++) {
                const LedgerDelay *delay = &ledger_delays[kind];

                if (!thread_sample_has(sample, delay->total_id))
                        continue;
                values->has |= LEDGER_HAS_DELAY(kind);
                values->sums[delay->count] = value_of(sample, delay->count_id);
                values->sums[delay->total] = value_of(sample, delay->total_id);
                if (!thread_sample_has(sample, delay->min_id))
                        continue;
                values->has |= LEDGER_HAS_DELAY_PEAKS;
                values->maxima[delay->max] = value_of(sample, delay->max_id);
                values->minima[delay->min] = value_of(sample, delay->min_id);
        }
}

/* As in ledger.bpf.h: a delay longer than the life is that of a thread without accounting. */
static void drop_impossible_delays(LedgerValues *values) {
        uint64_t most =
                number_add_saturating(values->lives_ns + (values->lives_ns >> 10), TASK_TICK_NS);
        bool is_impossible = false;

        for (size_t i = 0; i < _TASK_DELAY_MAX; i++)
                is_impossible = is_impossible || values->sums[ledger_delays[i].total] > most ||
                                values->maxima[ledger_delays[i].max] > most;
        if (!is_impossible)
                return;
        values->accounted = 0;
        for (size_t i = 0; i < _TASK_DELAY_MAX; i++) {
                values->sums[ledger_delays[i].count] = values->sums[ledger_delays[i].total] = 0;
                values->maxima[ledger_delays[i].max] = values->minima[ledger_delays[i].min] = 0;
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
        LedgerValues values = { .exits = 1 };
        ThreadSample sample;

        thread_sample_clear(&sample);
        taskstats_put_metrics(stats, EVERY_GROUP, &sample);
        for (size_t i = 0; i < n_ledger_counters; i++)
                values.sums[ledger_counters[i].sum] = value_of(&sample, ledger_counters[i].metric);
        values.sums[LEDGER_USER_NS] = value_of(&sample, METRIC_acct_utime_ns);
        values.sums[LEDGER_SYSTEM_NS] = value_of(&sample, METRIC_acct_stime_ns);
        take_run_delay(&sample, &values);
        take_delays(&sample, &values);
        take_memory(&sample, &values);
        values.accounted = taskstats_has_delays(stats);
        /* The kernel takes it from CLOCK_MONOTONIC, so time of the host's sleep is missing. */
        values.lives_ns = value_of(&sample, METRIC_acct_elapsed_ns);
        drop_impossible_delays(&values);
        if (context->now_ns - MIN_OF(context->now_ns, values.lives_ns) >= context->begun_ns) {
                values.young = 1;
                values.young_run_ns = values.sums[LEDGER_run_time_ns];
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
