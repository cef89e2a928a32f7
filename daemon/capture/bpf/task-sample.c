/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/bpf/task-sample.h"

#include <unistd.h>

#include "base/macro.h"
#include "base/number.h"
#include "kernel/bpf/task-value.h"
#include "kernel/procfs/proc-task.h"

#define PRIORITY_OF_FAIR 100 /* include/linux/sched/prio.h: MAX_RT_PRIO */
#define PRIORITY_OF_NICE_0 120

/* include/uapi/linux/sched.h */
#define POLICY_NORMAL 0
#define POLICY_BATCH 3
#define POLICY_EXT 7

static SourceOutcome outcome_of(bool is_there) {
        return is_there ? SOURCE_OUTCOME_ok : SOURCE_OUTCOME_unsupported;
}

/* schedstats */

// clang-format off
#define SCHEDSTAT_ROW(member, value, fold, metric, ...)                                            \
        { METRIC_##metric, offsetof(TaskSchedstats, member) },
static const struct {
        MetricId metric;
        size_t at;
} schedstat_rows[] = { COUNTERS_OF_SCHEDSTATS(SCHEDSTAT_ROW) };
// clang-format on

/* The kernel has the members whether or not they are counted: the sysctl says which it is. */
static void take_schedstats(const Readings *readings, ThreadSlot *slot,
                            const TaskSchedstats *stats) {
        const Gates *gates = &readings->host->gates;
        ThreadSample *sample = &slot->sample;
        bool is_negative = false;

        if (!stats || !gates->has_sysctl_schedstats || !gates->schedstats_on) {
                thread_slot_note(slot, SOURCE_SCHEDSTATS, SOURCE_OUTCOME_unsupported);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(schedstat_rows); i++) {
                const uint64_t *value =
                        (const void *) ((const char *) stats + schedstat_rows[i].at);

                /* A negative value is an error of the kernel's accounting. */
                if (*value > INT64_MAX)
                        is_negative = true;
                else
                        thread_sample_put(sample, schedstat_rows[i].metric, *value);
        }
        /* The kernel adds time blocked to the time asleep as well, and to that first. */
        if (stats->sum_sleep_runtime <= INT64_MAX && stats->sum_block_runtime <= INT64_MAX)
                thread_sample_put(sample, METRIC_voluntary_sleep_ns,
                                  stats->sum_sleep_runtime - MIN_OF(stats->sum_sleep_runtime,
                                                                    stats->sum_block_runtime));
        if (stats->has_core_forceidle_sum)
                thread_sample_put(sample, METRIC_core_forceidle_sum, stats->core_forceidle_sum);
        thread_slot_note(slot, SOURCE_SCHEDSTATS,
                         is_negative ? SOURCE_OUTCOME_malformed : SOURCE_OUTCOME_ok);
}

/* taskstats */

/* It cuts times to microseconds, and integrals to what fits. */
static void take_accounting(ThreadSlot *slot, const TaskRecord *record) {
        uint64_t user_ns = record->user_ns / NSEC_PER_USEC * NSEC_PER_USEC;
        uint64_t system_ns = record->system_ns / NSEC_PER_USEC * NSEC_PER_USEC;
        uint64_t real_ns = number_add_saturating(record->user_ns, record->system_ns);
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
        ThreadSample *sample = &slot->sample;

        thread_sample_put(sample, METRIC_acct_run_real_ns, real_ns);
        thread_sample_put(sample, METRIC_acct_run_scaled_ns, real_ns);
        thread_sample_put(sample, METRIC_acct_run_virtual_ns, record->run_time_ns);
        thread_sample_put(sample, METRIC_acct_utime_ns, user_ns);
        thread_sample_put(sample, METRIC_acct_stime_ns, system_ns);
        thread_sample_put(sample, METRIC_acct_utime_scaled_ns, user_ns);
        thread_sample_put(sample, METRIC_acct_stime_scaled_ns, system_ns);
        thread_sample_put(sample, METRIC_acct_elapsed_ns,
                          (record->seen_ns - MIN_OF(record->start_ns, record->seen_ns)) /
                                  NSEC_PER_USEC * NSEC_PER_USEC);
        if (record->has & TASK_HAS_INTEGRALS && !sample->kthread) {
                thread_sample_put(sample, METRIC_acct_rss_mb_us,
                                  task_integral_mb_us(record->rss_integral, page_bytes));
                thread_sample_put(sample, METRIC_acct_vm_mb_us,
                                  task_integral_mb_us(record->vm_integral, page_bytes));
        }
        if (record->has & TASK_HAS_RUN_DELAY) {
                thread_sample_put(sample, METRIC_cpu_delay_count, record->timeslices);
                thread_sample_put(sample, METRIC_cpu_delay_total_ns, record->wait_time_ns);
        }
        if (record->has & TASK_HAS_RUN_DELAY_PEAKS) {
                thread_sample_put(sample, METRIC_cpu_delay_max_ns, record->run_delay_max_ns);
                thread_sample_put(sample, METRIC_cpu_delay_min_ns, record->run_delay_min_ns);
        }
        thread_slot_note(slot, SOURCE_TASKSTATS, SOURCE_OUTCOME_ok);
}

static void put_delay(ThreadSample *sample, const TaskDelays *delays, unsigned kind) {
        const TaskDelay *delay = &delays->kinds[kind];
        const LedgerDelay *metrics = &ledger_delays[kind];

        thread_sample_put(sample, metrics->count_id, delay->count);
        thread_sample_put(sample, metrics->total_id, delay->total_ns);
        if (!(delays->has_peaks & 1u << kind))
                return;
        thread_sample_put(sample, metrics->max_id, delay->max_ns);
        thread_sample_put(sample, metrics->min_id, delay->min_ns);
}

/*
 * A thread has an accounting block if delay accounting was on when it was forked. So here, other
 * than with taskstats, its zeros are known to be measurements; but not while accounting is off.
 */
static void take_delays(ThreadSlot *slot, const Gates *gates, const TaskDelays *delays) {
        bool is_accounted = delays && gates->delay_trust != DELAY_TRUST_COUNTED;
        bool irq_applies = gates->irq_time_accounted || !gates->has_pressure;

        for (unsigned kind = 0; delays && kind < _TASK_DELAY_MAX; kind++)
                is_accounted |= delays->kinds[kind].count != 0;
        for (unsigned kind = 0; is_accounted && kind < _TASK_DELAY_MAX; kind++)
                if (kind != TASK_DELAY_IRQ && delays->has & 1u << kind)
                        put_delay(&slot->sample, delays, kind);
        thread_slot_note(slot, SOURCE_TASKSTATS_DELAY, outcome_of(is_accounted));

        if (delays && !(delays->has & 1u << TASK_DELAY_IRQ))
                return;
        /* Without interrupt accounting an irq delay of 0 is no measurement. */
        if (delays && (delays->kinds[TASK_DELAY_IRQ].count != 0 ||
                       (is_accounted && gates->irq_time_accounted))) {
                put_delay(&slot->sample, delays, TASK_DELAY_IRQ);
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, SOURCE_OUTCOME_ok);
        } else if (irq_applies)
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, SOURCE_OUTCOME_unsupported);
}

/* waits */

/*
 * A thread without a record of waits has had none since the account began. One in progress counts,
 * unless the thread is not waiting: then the program missed that it was woken.
 */
static void take_waits(const Readings *readings, ThreadSlot *slot, const Task *task) {
        const Ledger *ledger = readings->host->ledger;
        ThreadSample *sample = &slot->sample;
        TaskWaits waits = task->waits ? *task->waits : (TaskWaits){};

        if (!ledger || ledger->control->waits_since_ns == 0)
                return;
        if (waits.since_ns != 0 && slot->state == 'D') {
                uint64_t ns = task->record->seen_ns - MIN_OF(waits.since_ns, task->record->seen_ns);

                *(waits.is_storage ? &waits.storage_ns : &waits.other_ns) += ns;
                *(waits.is_storage ? &waits.n_storage : &waits.n_other) += 1;
        }
        thread_sample_put(sample, METRIC_storage_wait_ns, waits.storage_ns);
        thread_sample_put(sample, METRIC_storage_wait_count, waits.n_storage);
        thread_sample_put(sample, METRIC_uninterruptible_ns, waits.other_ns);
        thread_sample_put(sample, METRIC_uninterruptible_count, waits.n_other);
        thread_slot_note(slot, SOURCE_WAITS, SOURCE_OUTCOME_ok);
}

#define REASON_METRICS(reason, text, ...) \
        { METRIC_##reason##_wait_ns, METRIC_##reason##_wait_count },
static const struct {
        MetricId ns, count;
} reason_rows[_WAIT_REASON_MAX] = { WAIT_REASONS(REASON_METRICS) };

/*
 * A thread without a record in this epoch has waited for nothing in it. A wait in progress counts,
 * unless the thread is not waiting, or has been switched out again since that began: then the
 * program missed how it ended.
 */
static void take_reasons(const Readings *readings, ThreadSlot *slot, const Task *task) {
        const TaskReasons *counted = task->reasons;
        ThreadSample *sample = &slot->sample;
        TaskReasons of = {};

        if (readings->host->reason_epoch == 0)
                return;
        if (counted && counted->epoch == readings->host->reason_epoch)
                of = *counted;
        if (of.since_ns != 0 && slot->state != 'R' &&
            of.begin.n_voluntary == task->record->voluntary_csw) {
                uint64_t ns = task->record->seen_ns - MIN_OF(of.since_ns, task->record->seen_ns);

                if (of.reason < _WAIT_REASON_MAX) {
                        of.sums.ns[of.reason] += ns;
                        of.sums.n[of.reason]++;
                }
                of.max_ns = MAX_OF(of.max_ns, ns);
        }
        for (unsigned i = 0; i < _WAIT_REASON_MAX; i++) {
                thread_sample_put(sample, reason_rows[i].ns, of.sums.ns[i]);
                thread_sample_put(sample, reason_rows[i].count, of.sums.n[i]);
        }
        if (of.has_other_call)
                thread_sample_put(sample, METRIC_other_wait_call, of.other_call);
        thread_sample_put(sample, METRIC_off_cpu_max_ns, of.max_ns);
        thread_sample_put(sample, METRIC_off_cpu_min_ns, of.min_ns);
        thread_slot_note(slot, SOURCE_REASONS, SOURCE_OUTCOME_ok);
}

/* memory: with every thread that has the space, as the leader may have ended */

static uint64_t to_bytes(int64_t n_pages, uint64_t page_bytes) {
        return n_pages > 0 ? number_multiply_saturating((uint64_t) n_pages, page_bytes) : 0;
}

static void take_memory(ThreadSlot *slot, const TaskMemory *memory) {
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE), peak;
        ThreadSample *sample = &slot->sample;

        peak = MAX_OF(memory->vm_peak, memory->vm);
        thread_sample_put(sample, METRIC_hiwater_vm_bytes,
                          number_multiply_saturating(peak, page_bytes));
        if (memory->has & TASK_MEMORY_HAS_EXE) {
                sample->has_exe = true;
                sample->exe_dev = task_device(memory->exe_dev);
                sample->exe_inode = memory->exe_inode;
        }
        slot->start_stack = memory->stack_begin;
        slot->has_library_code = true;
        slot->library_code = task_library_code(memory, page_bytes);
        if (!(memory->has & TASK_MEMORY_HAS_RESIDENT))
                return; /* process_memory_read() reads them, unless one has been put by then */
        peak = MAX_OF(memory->rss_peak, task_resident(memory));
        thread_sample_put(sample, METRIC_hiwater_rss_bytes,
                          number_multiply_saturating(peak, page_bytes));
        thread_sample_put(sample, METRIC_rss_anon_bytes,
                          to_bytes(memory->resident[TASK_MEMORY_ANON], page_bytes));
        thread_sample_put(sample, METRIC_rss_file_bytes,
                          to_bytes(memory->resident[TASK_MEMORY_FILE], page_bytes));
        thread_sample_put(sample, METRIC_rss_shmem_bytes,
                          to_bytes(memory->resident[TASK_MEMORY_SHMEM], page_bytes));
        thread_sample_put(sample, METRIC_swap_bytes,
                          to_bytes(memory->resident[TASK_MEMORY_SWAP], page_bytes));
}

#define PUT_COUNTER(metric, place, member, needs, ...) \
        if ((record->has & (needs)) == (needs))        \
                thread_sample_put(&slot->sample, METRIC_##metric, record->metric);

void task_sample_take(const Readings *readings, ThreadSlot *slot, const Task *task,
                      const TaskMemory *memory) {
        const Gates *gates = &readings->host->gates;
        const TaskRecord *record = task->record;
        ThreadSample *sample = &slot->sample;
        uint64_t user_ns, system_ns;
        /* The file shows it for these policies only. */
        bool shows_slice = record->policy == POLICY_NORMAL || record->policy == POLICY_BATCH ||
                           record->policy == POLICY_EXT;

        thread_sample_clear(sample);
        sample->tid = slot->tid;
        sample->start_ticks = task_start_ticks(record);
        sample->has_ppid = sample->has_kthread = sample->has_owner = true;
        sample->ppid = (pid_t) record->ppid;
        sample->kthread = (record->flags & PROC_STAT_PF_KTHREAD) != 0;
        sample->uid = record->uid;
        sample->gid = record->gid;
        slot->owner = record->owner;

        slot->state = task_state(record);
        slot->is_zombie = slot->state == 'Z' || slot->state == 'X';
        slot->policy = record->policy;
        slot->is_kernel_worker =
                (record->flags & (PROC_STAT_PF_IO_WORKER | PROC_STAT_PF_USER_WORKER)) != 0;
        slot->has_space = (record->has & TASK_HAS_SPACE) != 0 && !sample->kthread;
        slot->num_threads = record->n_threads;
        slot->seen_ns = record->seen_ns;
        slot->is_nested = record->level > 0;
        slot->cgroup_id = record->has & TASK_HAS_CGROUP ? record->cgroup : 0;
        slot->thread_pointer = record->has & TASK_HAS_THREAD_POINTER ? record->thread_pointer : 0;

        /* stat */
        task_cpu_times(record, &user_ns, &system_ns);
        thread_sample_put(sample, METRIC_state, (uint64_t) (unsigned char) slot->state);
        thread_sample_put(sample, METRIC_policy, record->policy);
        thread_sample_put(sample, METRIC_priority,
                          (uint64_t) (int64_t) (record->priority - PRIORITY_OF_FAIR));
        thread_sample_put(sample, METRIC_nice,
                          (uint64_t) (int64_t) (record->static_priority - PRIORITY_OF_NICE_0));
        thread_sample_put(sample, METRIC_rt_priority, record->rt_priority);
        thread_sample_put(sample, METRIC_processor, record->processor);
        thread_sample_put(sample, METRIC_utime_clock_ticks, user_ns / TASK_TICK_NS);
        thread_sample_put(sample, METRIC_stime_clock_ticks, system_ns / TASK_TICK_NS);
        thread_slot_note(slot, SOURCE_STAT, SOURCE_OUTCOME_ok);

        /* status, io, schedstat, and what stat and sched have of counters */
        TASK_COUNTERS(PUT_COUNTER)
        thread_slot_note(slot, SOURCE_STATUS, SOURCE_OUTCOME_ok);
        thread_slot_note(slot, SOURCE_IO, outcome_of(record->has & TASK_HAS_IO_BYTES));
        thread_slot_note(slot, SOURCE_SCHEDSTAT, outcome_of(record->has & TASK_HAS_RUN_DELAY));

        /* sched */
        if (record->has & TASK_HAS_SLICE && shows_slice)
                thread_sample_put(sample, METRIC_fair_slice_ns, record->slice_ns);
        if (record->has & TASK_HAS_EXT)
                thread_sample_put(sample, METRIC_ext_enabled, (record->has & TASK_IS_EXT) != 0);
        thread_slot_note(slot, SOURCE_SCHED, SOURCE_OUTCOME_ok);

        take_schedstats(readings, slot, task->schedstats);
        take_accounting(slot, record);
        take_delays(slot, gates, task->delays);
        take_waits(readings, slot, task);
        take_reasons(readings, slot, task);
        if (memory && slot->has_space)
                take_memory(slot, memory);
        slot->kept = slot->is_settled = true;
}
