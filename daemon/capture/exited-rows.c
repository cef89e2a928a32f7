/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/exited-rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "kernel/bpf/task-value.h"
#include "snapshot/exited-row.h"

#define OVERFLOW_NAME "[ended without a row]"
#define NAMELESS_NAME "[ended, names folded]"

/* sums that need no more than their place */

// clang-format off
/* Beside the counters: the kernel's numbers that are more than one metric, or only of a task. */
static const LedgerSum others[] = {
        { LEDGER_USER_NS, METRIC_acct_utime_ns, 0 },
        { LEDGER_USER_NS, METRIC_acct_utime_scaled_ns, 0 },
        { LEDGER_SYSTEM_NS, METRIC_acct_stime_ns, 0 },
        { LEDGER_SYSTEM_NS, METRIC_acct_stime_scaled_ns, 0 },
        { LEDGER_USER_TICKS, METRIC_utime_clock_ticks, TASK_IS_READ },
        { LEDGER_SYSTEM_TICKS, METRIC_stime_clock_ticks, TASK_IS_READ },
        { LEDGER_wait_time_ns, METRIC_cpu_delay_total_ns, TASK_HAS_RUN_DELAY },
        { LEDGER_timeslices, METRIC_cpu_delay_count, TASK_HAS_RUN_DELAY },
};

/* These are measurements only while the sysctl is on. */
#define STAT_SUM_OF_SUM(member, metric) { LEDGER_##member, METRIC_##metric, LEDGER_HAS_SCHEDSTATS },
#define STAT_SUM_OF_MAX(member, metric)
#define STAT_SUM(member, value, fold, metric, ...) STAT_SUM_OF_##fold(member, metric)
static const LedgerSum stats[] = {
        COUNTERS_OF_SCHEDSTATS(STAT_SUM)
        { LEDGER_FORCEIDLE_NS, METRIC_core_forceidle_sum, LEDGER_HAS_FORCEIDLE },
};

static const LedgerSum waits[] = {
        { LEDGER_STORAGE_WAIT_NS, METRIC_storage_wait_ns, TASK_IS_READ },
        { LEDGER_N_STORAGE_WAITS, METRIC_storage_wait_count, TASK_IS_READ },
        { LEDGER_OTHER_WAIT_NS, METRIC_uninterruptible_ns, TASK_IS_READ },
        { LEDGER_N_OTHER_WAITS, METRIC_uninterruptible_count, TASK_IS_READ },
};

#define REASON_ROWS(reason, text, ...)                                                             \
        { LEDGER_REASON_NS(reason), METRIC_##reason##_wait_ns, 0 },                                \
        { LEDGER_N_REASON(reason), METRIC_##reason##_wait_count, 0 },
static const LedgerSum reasons[] = { WAIT_REASONS(REASON_ROWS) };

#define STAT_MAXIMUM_OF_SUM(member, metric)
#define STAT_MAXIMUM_OF_MAX(member, metric) { LEDGER_##member, METRIC_##metric },
#define STAT_MAXIMUM(member, value, fold, metric, ...) STAT_MAXIMUM_OF_##fold(member, metric)
static const struct {
        unsigned maximum;
        MetricId metric;
} stat_maxima[] = { COUNTERS_OF_SCHEDSTATS(STAT_MAXIMUM) };
// clang-format on

static void take_sums(ThreadSample *sample, const LedgerValues *values, const LedgerSum *rows,
                      size_t n) {
        for (size_t i = 0; i < n; i++)
                if ((values->has & rows[i].needs) == rows[i].needs)
                        thread_sample_put(sample, rows[i].metric, values->sums[rows[i].sum]);
}

/* what needs more */

static void take_accounting(ExitedRow *row, const LedgerValues *values) {
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
        ThreadSample *sample = &row->sample;
        uint64_t real_ns =
                number_add_saturating(values->sums[LEDGER_USER_NS], values->sums[LEDGER_SYSTEM_NS]);

        thread_sample_put(sample, METRIC_acct_run_real_ns, real_ns);
        thread_sample_put(sample, METRIC_acct_run_scaled_ns, real_ns);
        thread_sample_put(sample, METRIC_acct_elapsed_ns, values->lives_ns);
        /* Messages have it only of a kernel that accounts delays. */
        if (values->has & (TASK_IS_READ | TASK_HAS_RUN_DELAY))
                thread_sample_put(sample, METRIC_acct_run_virtual_ns,
                                  values->sums[LEDGER_run_time_ns]);
        if (values->has & TASK_HAS_INTEGRALS && !sample->kthread) {
                thread_sample_put(
                        sample, METRIC_acct_rss_mb_us,
                        task_integral_mb_us(values->sums[LEDGER_RSS_INTEGRAL], page_bytes));
                thread_sample_put(
                        sample, METRIC_acct_vm_mb_us,
                        task_integral_mb_us(values->sums[LEDGER_VM_INTEGRAL], page_bytes));
        }
        if (values->has & TASK_HAS_RUN_DELAY_PEAKS) {
                thread_sample_put(sample, METRIC_cpu_delay_max_ns,
                                  values->maxima[LEDGER_RUN_DELAY_MAX]);
                thread_sample_put(sample, METRIC_cpu_delay_min_ns,
                                  values->minima[LEDGER_RUN_DELAY_MIN]);
        }
        /* The last thread of a process knows them, and up to 6.12 not the second one. */
        if (values->maxima[LEDGER_RSS_PEAK] != 0)
                thread_sample_put(sample, METRIC_hiwater_rss_bytes,
                                  values->maxima[LEDGER_RSS_PEAK] * page_bytes);
        if (values->maxima[LEDGER_VM_PEAK] != 0)
                thread_sample_put(sample, METRIC_hiwater_vm_bytes,
                                  values->maxima[LEDGER_VM_PEAK] * page_bytes);
}

static void take_stats(ThreadSample *sample, const LedgerValues *values, const Gates *gates) {
        uint64_t asleep = values->sums[LEDGER_sum_sleep_runtime];

        take_sums(sample, values, stats, ELEMENTSOF(stats));
        if (!(values->has & LEDGER_HAS_SCHEDSTATS))
                return;
        /* The kernel adds time blocked to the time asleep as well. */
        thread_sample_put(sample, METRIC_voluntary_sleep_ns,
                          asleep - MIN_OF(asleep, values->sums[LEDGER_sum_block_runtime]));
        for (size_t i = 0; i < ELEMENTSOF(stat_maxima); i++)
                thread_sample_put(sample, stat_maxima[i].metric,
                                  values->maxima[stat_maxima[i].maximum]);
        /* As of threads that live. */
        if (gates->realtime_waits_broken && values->has & LEDGER_HAS_REALTIME) {
                thread_sample_drop(sample, METRIC_wait_sum);
                thread_sample_drop(sample, METRIC_wait_max);
        }
}

/*
 * A message does not tell whether a thread was accounted, but by a delay that was counted; after a
 * boot with accounting all were.
 */
static uint64_t count_accounted(const LedgerValues *values, const Gates *gates) {
        return !(values->has & TASK_IS_READ) && gates->delay_trust == DELAY_TRUST_ALWAYS
                       ? values->exits
                       : values->accounted;
}

/* A delay of 0 is a measurement under the same conditions as that of a living thread. */
static void take_delays(ThreadSample *sample, const LedgerValues *values, const Gates *gates) {
        if (count_accounted(values, gates) == 0)
                return;
        for (unsigned kind = 0; kind < _TASK_DELAY_MAX; kind++) {
                const LedgerDelay *delay = &ledger_delays[kind];
                bool is_zero_known = kind == TASK_DELAY_IRQ
                                             ? gates->irq_time_accounted
                                             : gates->delay_trust != DELAY_TRUST_COUNTED;

                if (!(values->has & LEDGER_HAS_DELAY(kind)) ||
                    (values->sums[delay->count] == 0 && !is_zero_known))
                        continue;
                thread_sample_put(sample, delay->count_id, values->sums[delay->count]);
                thread_sample_put(sample, delay->total_id, values->sums[delay->total]);
                if (!(values->has & LEDGER_HAS_DELAY_PEAKS))
                        continue;
                thread_sample_put(sample, delay->max_id, values->maxima[delay->max]);
                thread_sample_put(sample, delay->min_id, values->minima[delay->min]);
        }
}

static Span name_of(const char name[static TASK_COMM_BYTES]) {
        return (Span){ name, strnlen(name, TASK_COMM_BYTES) };
}

/* Its spans are borrowed from @from and @cgroup. */
static ExitedRow exited_row_of(const LedgerRow *from, Span cgroup, const Ledger *ledger,
                               const Gates *gates) {
        const LedgerValues *values = &from->values;
        const uint32_t flags = from->key.flags;
        ExitedRow row = {
                .exits = values->exits,
                .lives_ns = values->lives_ns,
                .accounted = count_accounted(values, gates),
                .young = values->young,
                .young_run_ns = values->young_run_ns,
                .has_owner = from->key.owner != LEDGER_OTHERS,
                .has_times = true,
                .owner = from->key.owner,
                .folded = flags & LEDGER_OVERFLOW     ? EXITED_OVERFLOW
                          : flags & LEDGER_NAMELESS   ? EXITED_NAMELESS
                          : flags & LEDGER_NUMBERLESS ? EXITED_NUMBERLESS
                                                      : EXITED_OWN,
                .born_boottime_ns = values->born_ns,
                .grew_boottime_ns = values->grew_ns,
        };

        /* Messages do not tell whose child it was, and rows of several do not either. */
        if (values->has & TASK_IS_READ && !ledger_key_is_folded(&from->key) &&
            !(flags & LEDGER_PARENTLESS))
                row.started_by = name_of(from->key.parent);
        if (flags & LEDGER_OVERFLOW)
                row.sample.pcomm = row.sample.comm = span_of(OVERFLOW_NAME);
        else {
                row.sample.pcomm = name_of(from->key.process);
                row.sample.comm = name_of(from->key.thread);
                if (flags & LEDGER_NAMELESS)
                        row.sample.pcomm = row.sample.comm = span_of(NAMELESS_NAME);
                row.sample.cgroup = cgroup;
                row.sample.has_kthread = true;
                row.sample.kthread = (flags & LEDGER_OF_KERNEL) != 0;
        }
        row.sample.self = (flags & LEDGER_OF_SELF) != 0;
        take_sums(&row.sample, values, ledger_counters, n_ledger_counters);
        take_sums(&row.sample, values, others, ELEMENTSOF(others));
        take_accounting(&row, values);
        if (gates->has_sysctl_schedstats && gates->schedstats_on)
                take_stats(&row.sample, values, gates);
        take_delays(&row.sample, values, gates);
        if (ledger->control->waits_since_ns != 0)
                take_sums(&row.sample, values, waits, ELEMENTSOF(waits));
        if (values->has & TASK_IS_READ && ledger_counts_reasons(ledger)) {
                take_sums(&row.sample, values, reasons, ELEMENTSOF(reasons));
                thread_sample_put(&row.sample, METRIC_off_cpu_max_ns,
                                  values->maxima[LEDGER_OFF_CPU_MAX]);
                thread_sample_put(&row.sample, METRIC_off_cpu_min_ns,
                                  values->minima[LEDGER_OFF_CPU_MIN]);
        }
        return row;
}

/* the sections */

/*
 * A path is noted by a program that sees its end only, up to LEDGER_PATH_LEVELS levels; a cgroup in
 * which others live on is known as a whole. One without a path keeps its number, so that two are
 * not taken for one. Where the host has no cgroups of version 2, the ids of tasks name none: then
 * *ret is empty. It is borrowed from @path.
 */
static int find_path(const CaptureHost *host, const CgroupSet *living, uint64_t id, Buffer *path,
                     Span *ret) {
        const CgroupEntry *entry;
        int r;

        *ret = (Span){ NULL, 0 };
        if (id == 0 || !host->cgroupfs)
                return 0;
        buffer_clear(path);
        r = ledger_cgroup_path(host->ledger, id, path);
        if (r == -ENOENT) {
                entry = cgroup_set_find(living, id);
                r = entry ? buffer_append(path, entry->path.bytes, entry->path.n)
                          : buffer_append_format(path, "[cgroup %" PRIu64 ", path unknown]", id);
        }
        *ret = buffer_span(path);
        return r;
}

static int compare_rows(const void *a, const void *b) {
        const LedgerRow *const *x = a, *const *y = b;

        return memcmp(&(*x)->key, &(*y)->key, sizeof((*x)->key));
}

int exited_rows_find_losses(const Ledger *ledger, LedgerSummary *summary) {
        LedgerLoss losses[LEDGER_MAX_LOSSES];
        int r;

        _Static_assert(LEDGER_MAX_LOSSES == OWNER_LOSSES_MAX, "each of them is told");
        r = ledger_find_losses(ledger, losses, &summary->n_losses,
                               &summary->folded_grew_boottime_ns);
        if (r < 0)
                return r;
        summary->has_losses = true;
        for (size_t i = 0; i < summary->n_losses; i++)
                summary->losses[i] = (OwnerLoss){
                        .has_owner = losses[i].owner != LEDGER_OTHERS,
                        .owner = losses[i].owner,
                        .folded_rows = losses[i].n_folded,
                        .overflow_exits = losses[i].n_overflow,
                        .folded_grew_boottime_ns = losses[i].grew_ns,
                };
        return 0;
}

static int write_summary(const Ledger *ledger, SnapshotWriter *writer) {
        const LedgerControl *control = ledger->control;
        uint64_t n_finished = control->n_finished; /* first: it is never more than the other */
        uint64_t n_unfinished = control->n_marked - n_finished;
        /* The programs count on: some of those may have ended after the rows were read. */
        LedgerSummary summary = {
                .generation = LEDGER_CAPTURES(control->generation),
                .exits = ledger->n_exits,
                .unfinished = MIN_OF(n_unfinished, ledger->n_exits),
                .folded_rows = ledger->n_folded,
                .overflow_exits = ledger->n_overflow,
                .lost_marks = control->n_lost_marks,
                .lost_records = ledger->n_lost,
                .moved_lost = control->moved.n_lost,
        };
        _cleanup_(buffer_done) Buffer json = {};
        JsonWriter object;
        int r;

        /* Those that hang in their exit are in no row any more. */
        summary.unfinished -= MIN_OF(summary.unfinished, ledger->n_hanging);
        r = exited_rows_find_losses(ledger, &summary);
        if (r < 0)
                return r;
        json_writer_init(&object, &json);
        ledger_summary_write_json(&object, &summary);
        r = json_writer_finish(&object);
        return r == 0 ? snapshot_writer_object(writer, SNAPSHOT_SECTION_LEDGER, buffer_span(&json))
                      : r;
}

#define PIECE_BYTES (64u * 1024u)

int exited_rows_write(const CaptureHost *host, const CgroupSet *living, SnapshotWriter *writer) {
        _cleanup_(buffer_done) Buffer path = {}, rows = {};
        _cleanup_(freep) const LedgerRow **sorted = NULL;
        _cleanup_(freep) MovedThread *threads = NULL;
        Ledger *ledger = host->ledger;
        size_t n = ledger->n_rows, n_moved = 0;
        Span cgroup;
        int r;

        r = write_summary(ledger, writer);
        if (r < 0)
                return r;
        /* In the order of their names, so that two snapshots are alike. */
        sorted = calloc(n + 1, sizeof(const LedgerRow *));
        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                sorted[i] = &ledger->rows[i];
        qsort(sorted, n, sizeof(const LedgerRow *), compare_rows);
        for (size_t i = 0; i < n && r == 0; i++) {
                const LedgerRow *from = sorted[i];
                ExitedRow row;

                if ((from->key.flags & LEDGER_OVERFLOW && from->values.exits == 0) ||
                    ledger_values_are_none(&from->values))
                        continue;
                r = find_path(host, living, from->key.cgroup, &path, &cgroup);
                if (r < 0)
                        return r;
                if (rows.n > 0)
                        (void) buffer_append(&rows, ",", 1);
                row = exited_row_of(from, cgroup, ledger, &host->gates);
                r = exited_row_encode(&rows, &row); /* also returns a failure of the comma */
                if (r == 0 && rows.n >= PIECE_BYTES) {
                        r = snapshot_writer_rows(writer, SNAPSHOT_SECTION_EXITED,
                                                 buffer_span(&rows));
                        buffer_clear(&rows);
                }
        }
        if (r == 0 && n > 0)
                r = snapshot_writer_rows(writer, SNAPSHOT_SECTION_EXITED, buffer_span(&rows));

        buffer_clear(&rows);
        if (r == 0)
                r = ledger_take_moved(ledger, &threads, &n_moved);
        for (size_t i = 0; i < n_moved && r == 0; i++) {
                /* Called as the row of the ledger that has its work. */
                const MovedThread *thread = &threads[i];
                ThreadSample ended = {
                        .tid = (pid_t) thread->life.tid,
                        .tgid = (pid_t) thread->life.tgid,
                        .start_ticks = thread->life.start_boottime_ns / TASK_TICK_NS,
                        .pcomm = name_of(thread->end.process),
                        .comm = name_of(thread->end.thread),
                        .has_kthread = true,
                        .kthread = (thread->end.flags & LEDGER_OF_KERNEL) != 0,
                        .self = (thread->end.flags & LEDGER_OF_SELF) != 0,
                };

                r = find_path(host, living, thread->end.cgroup, &path, &ended.cgroup);
                if (r < 0)
                        return r;
                if (rows.n > 0)
                        (void) buffer_append(&rows, ",", 1);
                r = moved_row_encode(&rows, &ended); /* also returns a failure of the comma */
        }
        return r == 0 ? snapshot_writer_rows(writer, SNAPSHOT_SECTION_MOVED, buffer_span(&rows))
                      : r;
}
