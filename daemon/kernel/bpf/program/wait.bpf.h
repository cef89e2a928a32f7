/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The account of waits: for how long, and how often, each thread slept uninterruptibly on storage
 * or for another reason. Nearly all switches and wake-ups are of other threads, and leave at the
 * first test. While somebody measures, they are counted too, by reason: see below.
 *
 * The kernel's own account of block I/O (delay accounting) is wrong from 6.12 on for threads that
 * compete for a CPU; this one is exact, and needs no setting.
 */

#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/task-record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

LedgerControl control; /* the page that all programs share with captures */

#include "kernel/bpf/program/call.bpf.h"
#include "kernel/bpf/program/record.bpf.h"

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x0002u
#define TASK_DEAD 0x0080u
#define TASK_NOLOAD 0x0400u      /* threads of the kernel that idle */
#define TASK_RTLOCK_WAIT 0x1000u /* for what is a spinning lock elsewhere: CONFIG_PREEMPT_RT */

static __always_inline __u32 read_state(const struct task_struct *task) {
        if (bpf_core_field_exists(task->__state))
                return *(volatile const __u32 *) &task->__state;
        return (__u32) ((const struct task_struct___state *) task)->state;
}

typedef struct Wait {
        TaskWaits known;
        WaitBegin begin; /* of the wait in progress */
} Wait;

struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, Wait);
} waits SEC(".maps");

static __always_inline void end(TaskWaits *known, __u64 ns) {
        known->since_ns = 0;
        if (known->is_storage) {
                known->storage_ns += ns;
                known->n_storage++;
        } else {
                known->other_ns += ns;
                known->n_other++;
        }
}

static __always_inline void note_begin(WaitBegin *begin, const struct task_struct *task) {
        begin->n_voluntary = task->nvcsw;
        begin->run_ns = task->se.sum_exec_runtime;
        if (bpf_core_field_exists(task->sched_info.run_delay))
                begin->run_delay_ns = task->sched_info.run_delay;
}

/*
 * Some hosts run no program while certain tasks of theirs are on the CPU, and a wake-up comes from
 * whatever was interrupted: then the thread waits again, and how its last wait ended is not known.
 * If it has not slept in between, the wait is what the kernel's own counts of running and of
 * waiting for a CPU leave of the time: @elapsed_ns, since it began. Returns whether that is so.
 */
static __always_inline int find_unseen(const WaitBegin *begin, const struct task_struct *task,
                                       __u64 elapsed_ns, __u64 *ret_ns) {
        __u64 awake_ns;

        if (!bpf_core_field_exists(task->sched_info.run_delay) ||
            task->nvcsw - begin->n_voluntary != 1)
                return 0;
        awake_ns = task->se.sum_exec_runtime - begin->run_ns + task->sched_info.run_delay -
                   begin->run_delay_ns;
        *ret_ns = elapsed_ns > awake_ns ? elapsed_ns - awake_ns : 0;
        return 1;
}

static __always_inline void remember(Wait *wait, struct task_struct *task, __u64 now_ns) {
        wait->known.is_storage = BPF_CORE_READ_BITFIELD(task, in_iowait);
        wait->known.since_ns = now_ns;
        note_begin(&wait->begin, task);
}

/* Threads that sleep where a lock spins elsewhere: nothing else tells of those at a wake-up. */
static __always_inline int has_sleeping_locks(void) {
        return bpf_core_field_exists(((struct spinlock___sleeping *) 0)->lock);
}

static __always_inline int is_uninterruptible(unsigned int state) {
        return (state & TASK_RTLOCK_WAIT) ||
               ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD));
}

static __always_inline void begin_wait(struct task_struct *task) {
        Wait *wait = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        __u64 now_ns, ns;

        if (!wait)
                return;
        now_ns = bpf_ktime_get_ns();
        if (wait->known.since_ns != 0 &&
            find_unseen(&wait->begin, task, now_ns - wait->known.since_ns, &ns))
                end(&wait->known, ns);
        remember(wait, task, now_ns);
}

/*
 * Run once when the other programs are attached, for each thread: a wait that is in progress counts
 * from then on. One that ends just now must not be taken for one that goes on.
 */
SEC("iter/task")
int seed_waits(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        Wait *wait;

        if (!task || !is_uninterruptible(read_state(task)))
                return 0;
        wait = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!wait || wait->known.since_ns != 0)
                return 0;
        remember(wait, task, bpf_ktime_get_ns());
        if (!is_uninterruptible(read_state(task)))
                wait->known.since_ns = 0;
        return 0;
}

/* by reason */

/*
 * The account of waits by reason: for how long, and how often, each thread slept in each kind of
 * system call. It is counted while somebody measures; at other times its programs read one number
 * of the page of control words and leave.
 *
 * State decides first, then the call that the thread is in, as its saved registers show it. An
 * uninterruptible wait is counted by the account of waits (wait.bpf.h); here it is one of sync, if
 * it is in such a call, and it is among the longest and the shortest.
 */

/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x0001u
#define TASK_STOPPED 0x0004u
#define TASK_TRACED 0x0008u
#define TASK_PARKED 0x0040u
#define TASK_FROZEN 0x8000u

#define TASK_BLOCKED                                                                            \
        (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | TASK_STOPPED | TASK_TRACED | TASK_PARKED | \
         TASK_RTLOCK_WAIT | TASK_FROZEN)

struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, TaskReasons);
} reasons SEC(".maps");

static __always_inline __u64 reasons_epoch(void) {
        return *(volatile __u64 *) &control.reasons.epoch;
}

/* include/uapi/linux/futex.h */
#define FUTEX_COMMAND 0x7fu
#define FUTEX_LOCK_PI 6u
#define FUTEX_LOCK_PI2 13u
#define FUTEX_LOCKED_WITH_WAITERS 2u /* of C libraries and languages, not of the kernel */
/* include/uapi/asm-generic/fcntl.h */
#define F_SETLKW 7u
#define F_OFD_SETLKW 38u

/* A WaitReason, or CALL_RESTARTS. */
static __always_inline __u32 reason_of(struct task_struct *task, const Call *call, __u32 decides) {
        __u32 command = call->second & FUTEX_COMMAND;

        switch (decides) {
        case CALL_DECIDES_FILE:
                return reason_of_file(task, (__u32) call->first);
        case CALL_DECIDES_FUTEX:
                return call->third == FUTEX_LOCKED_WITH_WAITERS || command == FUTEX_LOCK_PI ||
                                       command == FUTEX_LOCK_PI2
                               ? WAIT_REASON_lock
                               : WAIT_REASON_futex;
        case CALL_DECIDES_FUTEX_VALUE:
                return call->second == FUTEX_LOCKED_WITH_WAITERS ? WAIT_REASON_lock
                                                                 : WAIT_REASON_futex;
        case CALL_DECIDES_FCNTL:
                return call->second == F_SETLKW || call->second == F_OFD_SETLKW
                               ? WAIT_REASON_file_lock
                               : WAIT_REASON_other;
        }
        return decides;
}

/*
 * Where no earlier wait tells what was interrupted, the function does that the kernel will go on
 * with.
 */
static __noinline __u32 restarted_reason(struct task_struct *task) {
        static const char format[] = "%ps";
        char name[32] __attribute__((aligned(8))) = {};
        __u64 function;

        if (!task)
                return WAIT_REASON_other;
        function = (__u64) task->restart_block.fn;
        if (bpf_snprintf(name, sizeof(name), format, &function, sizeof(function)) < 0)
                return WAIT_REASON_other;
        if (__builtin_memcmp(name, "do_resta", 8) == 0) /* do_restart_poll() */
                return WAIT_REASON_poll;
        if (__builtin_memcmp(name, "futex_wa", 8) == 0) /* futex_wait_restart() */
                return WAIT_REASON_futex;
        /* hrtimer_nanosleep_restart(), alarm_timer_nsleep_restart(), posix_cpu_nsleep_restart() */
        if (__builtin_memcmp(name, "hrtimer_", 8) == 0 ||
            __builtin_memcmp(name, "alarm_ti", 8) == 0 ||
            __builtin_memcmp(name, "posix_cp", 8) == 0)
                return WAIT_REASON_sleep;
        return WAIT_REASON_other;
}

/* the account */

/* Returns the reason for which a thread in @state waits. */
static __always_inline __u32 classify(TaskReasons *of, struct task_struct *task,
                                      unsigned int state) {
        __u32 decides, reason;
        Call call;

        if (state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN))
                return WAIT_REASON_stopped;
        if (is_uninterruptible(state)) {
                if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
                        return REASON_OF_WAITS;
                read_call(&call, task);
                return !call.is_foreign && (find_call(&call) & CALL_SYNCS) ? WAIT_REASON_sync
                                                                           : REASON_OF_WAITS;
        }
        if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
                return WAIT_REASON_idle;
        if (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen))
                return WAIT_REASON_stopped;
        read_call(&call, task);
        if (call.is_foreign)
                call.number = REASON_CALL_FOREIGN;
        else if (call.number == CALL_NONE)
                return WAIT_REASON_fault;
        decides = CALL_REASON(find_call(&call));
        reason = reason_of(task, &call, decides);
        if (reason == CALL_RESTARTS)
                reason = of->call_reason != 0 ? of->call_reason - 1u : restarted_reason(task);
        if (reason == WAIT_REASON_other) {
                of->other_call = call.number;
                of->has_other_call = 1;
        }
        of->call_reason = (__u8) (reason + 1);
        return reason;
}

static __always_inline void end_reason(TaskReasons *of, __u64 ns) {
        __u32 reason = of->reason;

        of->since_ns = 0;
        if (ns > of->max_ns)
                of->max_ns = ns;
        if (ns != 0 && (of->min_ns == 0 || ns < of->min_ns))
                of->min_ns = ns;
        if (reason < _WAIT_REASON_MAX) {
                of->sums.ns[reason] += ns;
                of->sums.n[reason]++;
        }
}

/* Counts of the thread from another epoch are forgotten. */
static __always_inline TaskReasons *enter_epoch(struct task_struct *task, __u64 epoch,
                                                _Bool *ret_is_new) {
        TaskReasons *of = bpf_task_storage_get(&reasons, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

        if (!of) {
                __sync_fetch_and_add(&control.reasons.n_lost, 1);
                return 0;
        }
        *ret_is_new = of->epoch != epoch;
        if (*ret_is_new) {
                __builtin_memset(of, 0, sizeof(*of));
                of->epoch = epoch;
        }
        return of;
}

static __always_inline __u32 place_of(const TaskReasons *of, _Bool is_storage) {
        if (of->reason < WAIT_REASON_sync)
                return of->reason;
        return is_storage ? RECORD_PLACE_storage : RECORD_PLACE_blocked;
}

/* Nobody knows the length of a wait that was already in progress when the account began. */
static __always_inline void record_length(struct task_struct *task, const TaskReasons *of,
                                          _Bool is_storage, __u64 ns) {
        if (is_recorded(task) && is_wanted(task))
                (void) count_length(task, place_of(of, is_storage), ns,
                                    of->since_ns != control.reasons.since_ns);
}

/* Switches the account off when its time is over. */
static __always_inline void begin_reason(struct task_struct *task, unsigned int state,
                                         __u64 epoch) {
        __u64 now_ns = bpf_ktime_get_ns(), ns;
        TaskReasons *of;
        _Bool is_new;

        if (now_ns >= *(volatile __u64 *) &control.reasons.until_ns) {
                (void) __sync_val_compare_and_swap(&control.reasons.epoch, epoch, 0);
                return;
        }
        of = enter_epoch(task, epoch, &is_new);
        if (!of)
                return;
        if (of->since_ns != 0 && find_unseen(&of->begin, task, now_ns - of->since_ns, &ns)) {
                if (recording_id() != 0) {
                        const Wait *wait = bpf_task_storage_get(&waits, task, 0, 0);

                        record_length(task, of, wait && wait->known.is_storage, ns);
                }
                end_reason(of, ns);
        }
        of->reason = (__u8) classify(of, task, state);
        of->since_ns = now_ns;
        note_begin(&of->begin, task);
}

/*
 * Run for each thread when the account has been switched on: one that blocks and has counted
 * nothing in this epoch has not been on a CPU since then, so that its wait counts from then on.
 */
SEC("iter/task")
int seed_reasons(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        __u64 epoch = reasons_epoch();
        unsigned int state;
        TaskReasons *of;
        _Bool is_new;

        if (!task || epoch == 0 || task->on_cpu)
                return 0;
        state = read_state(task);
        if (!(state & TASK_BLOCKED))
                return 0;
        of = enter_epoch(task, epoch, &is_new);
        if (!of || !is_new)
                return 0;
        of->reason = (__u8) classify(of, task, state);
        of->since_ns = control.reasons.since_ns;
        note_begin(&of->begin, task);
        /* One that has been woken in between must not be taken for one that waits on. */
        if (task->on_cpu || !(read_state(task) & TASK_BLOCKED))
                of->since_ns = 0;
        return 0;
}

static __always_inline void record_end(struct task_struct *task, const TaskReasons *of,
                                       _Bool is_storage, __u64 now_ns) {
        __u32 place = of ? place_of(of, is_storage) : 0;
        __u64 since_ns = of ? of->since_ns : 0;

        record_wake(task, place, since_ns != 0 ? recorded_ns(since_ns, now_ns) : 0, now_ns);
        if (since_ns != 0)
                record_length(task, of, is_storage, now_ns - since_ns);
}

/*
 * Attached to a recording of waits, for those of which it wants to know who ends them. A thread
 * gets on its run queue (end_wait) on the CPU that it is for, which an interrupt may have to tell
 * of it: only here the current task is the one who wakes.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(record_waking, struct task_struct *woken) {
        __u64 id = recording_id();
        const TaskReasons *of;
        Recorded *mine;

        if (id == 0 || recording_end() != 0 || !is_recorded(woken))
                return 0;
        of = bpf_task_storage_get(&reasons, woken, 0, 0);
        if (!of || of->since_ns == 0 || of->epoch != reasons_epoch() || !wants_waker(of->reason))
                return 0;
        mine = find_recorded(woken, id);
        if (mine)
                note_waker(ctx, woken, mine, recorded_ns(of->since_ns, bpf_ktime_get_ns()));
        return 0;
}

/*
 * A wait is over when the thread is on a run queue again, where the kernel begins to count that it
 * waits for a CPU: an idle one may have to be woken before that, which takes as long as a fast disk
 * does. Where the CPU must be interrupted for the thread, the kernel does so between queueing it
 * and this tracepoint: 10 to 26 us of a guest, which are in this wait and in that for the CPU. The
 * state is gone by then, but the kernel remembers of each thread whether it counted for the load
 * average when it was last switched out, which it does in uninterruptible waits.
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(end_wait, struct task_struct *woken) {
        __u64 epoch = reasons_epoch(), now_ns;
        int may_be_uninterruptible =
                BPF_CORE_READ_BITFIELD(woken, sched_contributes_to_load) || has_sleeping_locks();
        TaskReasons *of;
        Wait *wait = 0;

        if (!may_be_uninterruptible && epoch == 0)
                return 0;
        now_ns = bpf_ktime_get_ns();
        if (may_be_uninterruptible) {
                wait = bpf_task_storage_get(&waits, woken, 0, 0);
                if (wait && wait->known.since_ns != 0)
                        end(&wait->known, now_ns - wait->known.since_ns);
        }
        if (epoch == 0)
                return 0;
        of = bpf_task_storage_get(&reasons, woken, 0, 0);
        if (recording_id() != 0)
                record_end(woken, of && of->epoch == epoch ? of : 0, wait && wait->known.is_storage,
                           now_ns);
        if (of && of->epoch == epoch && of->since_ns != 0)
                end_reason(of, now_ns - of->since_ns);
        return 0;
}

/*
 * Run for each thread before the recording begins: memory for what is noted of it comes from here,
 * where the allocator can fetch more of it between two threads. An interrupt that wakes many of
 * them soon finds none.
 *
 * Run again when the recording has ended: a wait that goes on is a sample of its own. Whoever
 * waits for a CPU is one as well. It is told to whoever reads, not to the ring. With a filter,
 * threads that it takes are told of in any case: this is how it is known which these are.
 *
 * A thread for which whoever reads has no room left is shown again, so that room is looked for
 * before anything is noted of it.
 */
SEC("iter/task")
int record_rest(struct bpf_iter__task *context) {
        struct task_struct *task = context->task;
        struct seq_file *seq = context->meta->seq;
        __u64 id = recording_id(), since_ns;
        const TaskReasons *of;
        const Wait *wait;
        Recorded *mine;
        RecordSpace *space;
        RecordPart part;
        __u32 place;
        long n = 0;

        if (!task || task->exit_state)
                return 0;
        if (id == 0) {
                (void) bpf_task_storage_get(&recorded, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
                return forget_pending(pending_key(task));
        }
        if (!is_recorded(task) || !is_wanted(task))
                return 0;
        of = bpf_task_storage_get(&reasons, task, 0, 0);
        mine = find_recorded(task, id);
        wait = bpf_task_storage_get(&waits, task, 0, 0);
        space = find_space(RECORD_SPACE_HOOK);
        if (!space)
                return 0;
        describe(&space->sample, task);
        space->sample.n_switches = task->nvcsw + task->nivcsw;
        space->sample.owner = read_owner(task);
        if (seq->count + sizeof(space->sample) >= seq->size) {
                (void) bpf_seq_write(seq, &space->sample, sizeof(space->sample));
                space->is_busy = 0;
                return 0;
        }
        if (task->on_cpu)
                since_ns = 0;
        else if (of && of->epoch == control.reasons.epoch && of->since_ns != 0) {
                since_ns = of->since_ns;
                place = of->reason;
                if (place >= RECORD_PLACE_storage)
                        place = wait && wait->known.is_storage ? RECORD_PLACE_storage
                                                               : RECORD_PLACE_blocked;
                space->sample.place = (__u8) place;
        } else
                since_ns = mine ? mine->queue_since_ns : 0;
        part.ns = since_ns != 0 ? recorded_ns(since_ns, recording_end()) : 0;
        if (part.ns != 0 && mine &&
            !(space->sample.place < _RECORD_PLACE_MAX ? claim_wait(mine)
                                                      : claim_queue(mine, since_ns)))
                part.ns = 0;
        if (part.ns == 0 && !control.record.filter.is_on) {
                space->is_busy = 0;
                return 0;
        }
        part.weight_ns = is_of_length(part.ns) ? part.ns : 0;
        if (wants_waker(space->sample.place))
                space->sample.wake = RECORD_WAKE_LATER;
        if (space->sample.place < _RECORD_PLACE_MAX)
                space->sample.wait = part;
        else
                space->sample.queue = part;
        if (part.weight_ns != 0 && control.record.has_frames)
                n = bpf_get_task_stack(task, space->sample.frames, sizeof(space->sample.frames), 0);
        space->sample.n_frames = n > 0 ? (__u32) n / sizeof(__u64) : 0;
        if (part.weight_ns != 0 && space->sample.place < _RECORD_PLACE_MAX)
                (void) read_object(task, space->sample.place, &space->sample.object);
        /* Its memory is read by who may be kept waiting for it. */
        if (part.weight_ns != 0)
                space->sample.sp = read_registers(&space->sample, task);
        (void) bpf_seq_write(seq, &space->sample, sizeof(space->sample));
        space->is_busy = 0;
        return 0;
}
