/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The task iterator: one run for each thread of the host, in ascending order of thread ids. The
 * kernel holds the task while it runs, so that a record is never of two tasks. It takes no lock, as
 * procfs does not for most of these numbers either: members of one record can be some nanoseconds
 * apart.
 *
 * The other programs of this object count what the iterator cannot see: the account of waits
 * (wait.bpf.h) and the ledger of exits (ledger.bpf.h).
 *
 * When the reader's buffer is full, the kernel takes back what a run has written and runs it again
 * for the same task; so this one changes nothing but what it notes of a thread's names.
 */
#include "kernel/bpf/program/ledger.bpf.h"
#include "kernel/bpf/program/memory.bpf.h"
#include "kernel/bpf/program/owner.bpf.h"
#include "kernel/bpf/task-record.h"
#include "kernel/bpf/program/wait.bpf.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

/* Set before loading. */
const volatile __u32 n_affinity_bytes = 8; /* a multiple of 8 */
/*
 * @ext_mask has the bits of scx.flags that hold the state of a task, and @ext_enabled is their
 * value while a scheduler of sched_ext has the task.
 */
const volatile __u32 ext_mask = 0; /* 0: not known */
const volatile __u32 ext_enabled = 0;

#define MAX_AFFINITY_BYTES 64 /* larger masks are read in pieces of this size */

static __always_inline __u32 read_processor(const struct task_struct *task) {
        if (bpf_core_field_exists(task->thread_info.cpu))
                return task->thread_info.cpu;
        return ((const struct task_struct___cpu *) task)->cpu;
}

static __always_inline __u32 read_ext(const struct task_struct *task) {
        if (!bpf_core_field_exists(task->scx) || ext_mask == 0)
                return 0;
        return TASK_HAS_EXT | ((task->scx.flags & ext_mask) == ext_enabled ? TASK_IS_EXT : 0);
}

/* A C library keeps there what belongs to the thread. */
static __always_inline __u32 read_thread_pointer(TaskRecord *record, struct task_struct *task) {
        const struct task_struct___arm64 *arm64 = (const void *) task;

        if (bpf_core_field_exists(task->thread.fsbase))
                record->thread_pointer = task->thread.fsbase;
        else if (bpf_core_field_exists(arm64->thread.uw.tp_value))
                record->thread_pointer = arm64->thread.uw.tp_value;
        else
                return 0;
        return TASK_HAS_THREAD_POINTER;
}

#define READ_TASK_COUNTER(metric, place, member, ...) \
        if (bpf_core_field_exists(task->member))      \
                record->metric = task->member;

static __always_inline __u32 read_counters(TaskRecord *record, const struct task_struct *task) {
        __u32 has = find_has(task) | read_ext(task);

        TASK_COUNTERS(READ_TASK_COUNTER)
        record->user_ns = task->utime;
        record->system_ns = task->stime;
        if (bpf_core_field_exists(task->prev_cputime.utime)) {
                record->prev_user_ns = task->prev_cputime.utime;
                record->prev_system_ns = task->prev_cputime.stime;
        }
        if (bpf_core_field_exists(task->se.slice)) {
                record->slice_ns = task->se.slice;
                has |= TASK_HAS_SLICE;
        }
        if (bpf_core_field_exists(task->sched_info.max_run_delay)) {
                record->run_delay_max_ns = task->sched_info.max_run_delay;
                record->run_delay_min_ns = task->sched_info.min_run_delay;
        }
        if (bpf_core_field_exists(task->acct_rss_mem1)) {
                record->rss_integral = task->acct_rss_mem1;
                record->vm_integral = task->acct_vm_mem1;
        }
        return has;
}

/*
 * Several threads share an address space. It is described once, with the leader, or, when that has
 * ended, with each thread that is left.
 */
static __always_inline int describes_memory(struct task_struct *task) {
        struct mm_struct *mm = task->mm;

        if (!mm || (task->flags & PF_KTHREAD))
                return 0;
        return task->group_leader->mm != mm || task->pid == task->tgid;
}

/* The record itself, and what follows it. */
static __noinline int write_record(struct bpf_iter__task *context, __u32 parts) {
        struct task_struct *task = context->task;
        TaskRecord record = {};
        __u32 has;

        if (!task)
                return 0;
        record.n_bytes = sizeof(record) + (parts & TASK_PART_AFFINITY ? n_affinity_bytes : 0) +
                         (parts & TASK_PART_MEMORY ? sizeof(TaskMemory) : 0) +
                         (parts & TASK_PART_DELAYS ? sizeof(TaskDelays) : 0) +
                         (parts & TASK_PART_SCHEDSTATS ? sizeof(TaskSchedstats) : 0) +
                         (parts & TASK_PART_WAITS ? sizeof(TaskWaits) : 0) +
                         (parts & TASK_PART_REASONS ? sizeof(TaskReasons) : 0) +
                         (parts / TASK_PART_MARK & 1) * sizeof(TaskMark);
        record.parts = parts;
        record.tid = task->pid;
        record.tgid = task->tgid;
        record.ppid = task->real_parent->tgid;
        record.uid = task->real_cred->uid.val;
        record.gid = task->real_cred->gid.val;
        record.owner = read_owner(task);
        __builtin_memcpy(record.comm, task->comm, sizeof(record.comm));
        record.start_boottime_ns = task->start_boottime;
        record.start_ns = task->start_time;
        record.seen_ns = bpf_ktime_get_ns();

        record.state = read_state(task);
        record.exit_state = task->exit_state;
        record.flags = task->flags;
        record.policy = task->policy;
        record.priority = task->prio;
        record.static_priority = task->static_prio;
        record.rt_priority = task->rt_priority;
        record.processor = read_processor(task);
        record.n_threads = task->signal->nr_threads;
        record.level = task->thread_pid->level;

        has = read_counters(&record, task) | read_thread_pointer(&record, task);
        if (bpf_core_field_exists(task->cgroups)) {
                record.cgroup = task->cgroups->dfl_cgrp->kn->id;
                has |= TASK_HAS_CGROUP;
        }
        if (task->mm)
                has |= TASK_HAS_SPACE;
        if (*(volatile __u64 *) &control.is_recording && !is_marked(task))
                note_seen_names(&record, task);
        record.has = has | read_mark(&record, task);
        return bpf_seq_write(context->meta->seq, &record, sizeof(record));
}

static __noinline int write_affinity(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        __u64 words[MAX_AFFINITY_BYTES / sizeof(__u64)] = {};
        const char *mask;
        __u32 n;

        if (!task)
                return 0;
        mask = (const char *) task->cpus_ptr;
        for (__u32 at = 0; at < MAX_CPUS / 8 && at < n_affinity_bytes; at += MAX_AFFINITY_BYTES) {
                n = n_affinity_bytes - at;
                if (n > MAX_AFFINITY_BYTES)
                        n = MAX_AFFINITY_BYTES;
                (void) bpf_probe_read_kernel(words, n, mask + at);
                (void) bpf_seq_write(context->meta->seq, words, n);
        }
        return 0;
}

static __noinline int write_memory(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        TaskMemory memory = {};
        struct mm_struct *mm;
        struct file *exe;

        if (!task)
                return 0;
        mm = task->mm;
        if (mm) {
                memory.has = read_resident(&memory, mm);
                memory.rss_peak = mm->hiwater_rss;
                memory.vm_peak = mm->hiwater_vm;
                memory.vm = mm->total_vm;
                memory.executable = mm->exec_vm;
                memory.code_begin = mm->start_code;
                memory.code_end = mm->end_code;
                memory.stack_begin = mm->start_stack;
                exe = mm->exe_file;
                if (exe) {
                        memory.exe_inode = exe->f_inode->i_ino;
                        memory.exe_dev = exe->f_inode->i_sb->s_dev;
                        memory.has |= TASK_MEMORY_HAS_EXE;
                }
        }
        return bpf_seq_write(context->meta->seq, &memory, sizeof(memory));
}

#define READ_DELAY(id, word)                                                   \
        if (bpf_core_field_exists(info->word##_delay)) {                       \
                delays.kinds[TASK_DELAY_##id].count = info->word##_count;      \
                delays.kinds[TASK_DELAY_##id].total_ns = info->word##_delay;   \
                delays.has |= 1u << TASK_DELAY_##id;                           \
        }                                                                      \
        if (bpf_core_field_exists(info->word##_delay_max)) {                   \
                delays.kinds[TASK_DELAY_##id].max_ns = info->word##_delay_max; \
                delays.kinds[TASK_DELAY_##id].min_ns = info->word##_delay_min; \
                delays.has_peaks |= 1u << TASK_DELAY_##id;                     \
        }

static __noinline int write_delays(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        const struct task_delay_info *info;
        TaskDelays delays = {};

        if (!task || !bpf_core_field_exists(task->delays))
                return 0;
        info = task->delays;
        if (info) {
                TASK_DELAY_KINDS(READ_DELAY)
        }
        return bpf_seq_write(context->meta->seq, &delays, sizeof(delays));
}

#define READ_SCHEDSTAT(member, ...) stats.member = task->stats.member;

static __noinline int write_schedstats(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        TaskSchedstats stats = {};

        if (!task || !bpf_core_field_exists(task->stats.wait_sum))
                return 0;
        COUNTERS_OF_SCHEDSTATS(READ_SCHEDSTAT)
        stats.sum_sleep_runtime = task->stats.sum_sleep_runtime;
        if (bpf_core_field_exists(task->stats.core_forceidle_sum)) {
                stats.core_forceidle_sum = task->stats.core_forceidle_sum;
                stats.has_core_forceidle_sum = 1;
        }
        return bpf_seq_write(context->meta->seq, &stats, sizeof(stats));
}

static __noinline int write_waits(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        const TaskWaits *wait;
        TaskWaits none = {};

        if (!task)
                return 0;
        wait = bpf_task_storage_get(&waits, task, 0, 0);
        return bpf_seq_write(context->meta->seq, wait ? wait : &none, sizeof(*wait));
}

static __noinline int write_reasons(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        const TaskReasons *of;
        static const TaskReasons none;

        if (!task)
                return 0;
        of = bpf_task_storage_get(&reasons, task, 0, 0);
        return bpf_seq_write(context->meta->seq, of ? of : &none, sizeof(*of));
}

/*
 * The kernel sets the exit state before the thread leaves its CPU for the last time, where a
 * program changes the mark. So where that is 0 after the mark was read, the mark is whole.
 */
static __noinline int write_mark(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        const LedgerMark *mark;
        __u64 exit_state;

        if (!task)
                return 0;
        mark = bpf_task_storage_get(&marks, task, 0, 0);
        if (!mark)
                return 0;
        (void) bpf_seq_write(context->meta->seq, mark, sizeof(*mark));
        add_ordered(&control.n_running[0], 0);
        exit_state = *(volatile unsigned int *) &task->exit_state;
        return bpf_seq_write(context->meta->seq, &exit_state, sizeof(exit_state));
}

/*
 * TASK_PART_MARK or 0, as a number that the verifier does not know: it would look at everything
 * that follows once more for each.
 */
static __always_inline __u32 find_mark(struct task_struct *task) {
        const LedgerMark *mark = bpf_task_storage_get(&marks, task, 0, 0);
        __u64 is_added = mark ? mark->is_added : 0;

        return (__u32) (is_added & ((__u64) task->exit_state - 1) >> 63) * TASK_PART_MARK;
}

static __always_inline __u32 choose_parts(struct task_struct *task) {
        __u64 epoch = reasons_epoch();
        __u32 parts = TASK_PART_AFFINITY;
        const TaskReasons *of;

        if (describes_memory(task))
                parts |= TASK_PART_MEMORY;
        if (bpf_core_field_exists(task->delays) && task->delays)
                parts |= TASK_PART_DELAYS;
        if (bpf_core_field_exists(task->stats.wait_sum))
                parts |= TASK_PART_SCHEDSTATS;
        if (bpf_task_storage_get(&waits, task, 0, 0))
                parts |= TASK_PART_WAITS;
        of = epoch != 0 ? bpf_task_storage_get(&reasons, task, 0, 0) : 0;
        if (of && of->epoch == epoch)
                parts |= TASK_PART_REASONS;
        return parts | find_mark(task);
}

SEC("iter/task")
int read_task(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        __u32 parts;

        if (!task) /* the last call */
                return 0;
        parts = choose_parts(task);
        (void) write_record(context, parts);
        (void) write_affinity(context);
        if (parts & TASK_PART_MEMORY)
                (void) write_memory(context);
        if (parts & TASK_PART_DELAYS)
                (void) write_delays(context);
        if (parts & TASK_PART_SCHEDSTATS)
                (void) write_schedstats(context);
        if (parts & TASK_PART_WAITS)
                (void) write_waits(context);
        if (parts & TASK_PART_REASONS)
                (void) write_reasons(context);
        if (parts & TASK_PART_MARK)
                (void) write_mark(context);
        return 0;
}

/*
 * One program for all accounts: there are too many switches for two.
 *
 * @state is why @previous left the CPU: by now its own state may be another one, for a wake-up may
 * have come in between. A thread that was preempted on its way into a wait is not waiting yet.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(leave_cpu, _Bool is_preempted, struct task_struct *previous, struct task_struct *next,
             unsigned int state) {
        __u64 epoch;

        if (recording_id() != 0)
                (void) record_switch(previous, next, is_preempted || state == 0);
        if (is_preempted || state == 0)
                return 0;
        if (state & TASK_DEAD) {
                (void) forget_pending(pending_key(previous));
                return add_rest(previous, SCRATCH_OF_SWITCH);
        }
        /*
         * Both functions below also count an earlier wait of the thread, if its end was not seen.
         */
        epoch = reasons_epoch();
        if (epoch != 0)
                begin_reason(previous, state, epoch);
        if (is_uninterruptible(state))
                begin_wait(previous);
        return 0;
}
