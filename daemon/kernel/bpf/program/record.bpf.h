/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The programs of a recording: they take samples of what threads wait for and of where they run,
 * with stacks. record-sample.h says how intervals are chosen.
 *
 * How long a wait was is known when it ends, so that its stack is taken then: the thread has not
 * moved. The frames of the kernel are read when it is about to get a CPU; its registers and its
 * stack of user mode a moment later, when it has got it and is the current task.
 *
 * While no recording is on, the account of waits reads one number and calls nothing of this.
 */

#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/record-sample.h"
#include "kernel/bpf/program/call.bpf.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The facts about a thread's interval in progress, and about a wait that was taken. */
typedef struct Recorded {
        __u64 id;             /* of the recording that this belongs to */
        __u64 queue_since_ns; /* CLOCK_MONOTONIC; 0: it does not wait for a CPU */
        RecordPart wait;
        __u64 wake; /* RECORD_WAKE_..., or the number of the one that ended the wait */
        __u32 draw; /* of the wake-up that is on its way; 0: none was noted */
        __u32 place;
        __u32 is_pending; /* it has one of record_pending */
        __u32 is_started; /* by whom the filter names, or by what that has started */
        __u32 is_told;    /* its wait in which the recording ended */
} Recorded;

struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, Recorded);
} recorded SEC(".maps");

/* A sample whose thread has not yet gone on. */
typedef struct RecordPending {
        RecordPart wait, queue;
        __u64 wake;
        __u32 place;
        __u32 n_frames;
        __u64 frames[RECORD_MAX_FRAMES];
} RecordPending;

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __uint(max_entries, 4096);
        __type(key, __u64); /* the address of the task */
        __type(value, RecordPending);
} record_pending SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, RECORD_RING_BYTES);
} record_ring SEC(".maps");

/* A pending sample is put together here: by the switch, which nothing of ours interrupts. */
struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, RecordPending);
} record_scratch SEC(".maps");

/*
 * A sample is put together here. The clock may interrupt a thread that goes on, and so may a
 * wake-up; neither of these two interrupts the other. Each CPU has one space of each kind. They are
 * elements of a common array, because an element of a per-CPU array has at most 32 KiB.
 */
enum { RECORD_SPACE_HOOK, RECORD_SPACE_CLOCK, _RECORD_SPACE_MAX };

typedef struct RecordSpace {
        __u64 is_busy;
        RecordSample sample;
        char stack[RECORD_MAX_STACK_BYTES + RECORD_STACK_PAGE]; /* one page more than any bound */
} RecordSpace;

struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, _RECORD_SPACE_MAX); /* times the number of CPUs: set before loading */
        __type(key, __u32);
        __type(value, RecordSpace);
} record_spaces SEC(".maps");

/* Set before loading: a kernel that does not take these programs is not shown them. */
const volatile _Bool has_recording = 1;

static __always_inline __u64 recording_id(void) {
        return has_recording ? *(volatile __u64 *) &control.record.id : 0;
}

#define COUNT_RECORD(member) __sync_fetch_and_add(&control.record.member, 1)

static __always_inline _Bool is_recorded(const struct task_struct *task) {
        return task->pid != 0 && task->tgid != control.record.own[0] &&
               task->tgid != control.record.own[1];
}

static __always_inline Recorded *find_recorded(struct task_struct *task, __u64 id) {
        Recorded *of = bpf_task_storage_get(&recorded, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

        if (!of) {
                COUNT_RECORD(n_lost_storage);
                return 0;
        }
        if (of->id != id) {
                __builtin_memset(of, 0, sizeof(*of));
                of->id = id;
        }
        return of;
}

/* the end */

/*
 * The recording ends at one moment, though it takes a while to go through all threads then
 * (record_rest). What begins later is none of its intervals.
 */
static __always_inline __u64 recording_end(void) {
        return *(volatile __u64 *) &control.record.end_ns;
}

/* What the recording has of an interval. Verified by itself. */
__noinline __u64 recorded_ns(__u64 since_ns, __u64 now_ns) {
        __u64 begun_ns = control.record.begun_ns, end_ns = recording_end();

        if (since_ns < begun_ns)
                since_ns = begun_ns;
        if (end_ns != 0 && end_ns < now_ns)
                now_ns = end_ns;
        return now_ns > since_ns ? now_ns - since_ns : 0;
}

/*
 * Returns whether the wait that a thread was in at the end is for the caller to tell: it may be
 * over before record_rest comes to the thread, and either tells of it.
 */
static __always_inline _Bool claim_wait(Recorded *of) {
        return __sync_val_compare_and_swap(&of->is_told, 0, 1) == 0;
}

/* The same of a wait for a CPU since @since_ns: for whoever gets the CPU nothing is left of it. */
static __always_inline _Bool claim_queue(Recorded *of, __u64 since_ns) {
        return __sync_val_compare_and_swap(&of->queue_since_ns, since_ns, recording_end()) ==
               since_ns;
}

/* the filter */

#define RECORD_CGROUP_LEVELS 64

/* A function of its own: in a loop the compiler would prepare both ways, one of which is none. */
static __noinline struct kernfs_node *parent_of(struct kernfs_node *node) {
        const struct kernfs_node___rcu *rcu = (const void *) node;

        if (!node)
                return 0;
        if (bpf_core_field_exists(node->parent))
                return node->parent;
        return bpf_core_field_exists(rcu->__parent) ? rcu->__parent : (void *) 0;
}

/* Returns 1 if @id is the cgroup of @task or one above it. */
static __noinline int is_in_cgroup(struct task_struct *task, __u64 id) {
        struct kernfs_node *node;

        if (!task || !bpf_core_field_exists(task->cgroups))
                return 0;
        node = task->cgroups->dfl_cgrp->kn;
        for (__u32 i = 0; i < RECORD_CGROUP_LEVELS && node; i++) {
                if (node->id == id)
                        return 1;
                node = parent_of(node);
        }
        return 0;
}

/* Verified by itself, as its loop has many ways through. */
__noinline int filter_names(__u32 is_user, __u32 one) {
        const RecordFilter *filter = &control.record.filter;

        for (__u32 i = 0; i < RECORD_FILTER_MAX; i++) {
                if (i >= (is_user ? filter->n_uids : filter->n_pids))
                        break;
                if ((is_user ? filter->uids[i] : filter->pids[i]) == one)
                        return 1;
        }
        return 0;
}

/* Asked for what would be a sample, not for each switch: a thread may come and go. */
static __noinline int is_wanted(struct task_struct *task) {
        const RecordFilter *filter = &control.record.filter;
        const Recorded *of;

        if (!task)
                return 0;
        if (!filter->is_on)
                return 1;
        if (filter->threads != RECORD_THREADS_ALL &&
            (filter->threads == RECORD_THREADS_KERNEL) != is_thread_of_kernel(task))
                return 0;
        if (filter->n_pids != 0 && !filter_names(0, task->tgid))
                return 0;
        if (filter->n_uids != 0 && !filter_names(1, task->real_cred->uid.val))
                return 0;
        if (filter->starter != 0) {
                of = bpf_task_storage_get(&recorded, task, 0, 0);
                if (!of || of->id != recording_id() || !of->is_started)
                        return 0;
        }
        return filter->cgroup == 0 || is_in_cgroup(task, filter->cgroup);
}

/* Attached while a filter names whom a process starts. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(record_fork, struct task_struct *parent, struct task_struct *child) {
        __u64 id = recording_id();
        const Recorded *of;
        Recorded *mine;

        if (id == 0)
                return 0;
        of = bpf_task_storage_get(&recorded, parent, 0, 0);
        if (parent->tgid == control.record.filter.starter ? parent->tgid == child->tgid
                                                          : !of || of->id != id || !of->is_started)
                return 0;
        mine = find_recorded(child, id);
        if (mine)
                mine->is_started = 1;
        return 0;
}

/* Returns true if waits of @ns are wanted, including waits for a CPU. */
static __always_inline _Bool is_of_length(__u64 ns) {
        return control.record.has_waits && ns >= control.record.min_ns &&
               (control.record.max_ns == 0 || ns <= control.record.max_ns);
}

/*
 * Returns the weight of an interval of @ns, which depends on the random number @draw; see
 * record-sample.h. Returns 0 if the interval is not taken.
 */
static __always_inline __u64 weigh(__u64 ns, __u32 draw) {
        __u64 period_ns = *(volatile __u64 *) &control.record.period_ns;

        if (ns >= period_ns)
                return ns;
        return ((__u64) draw * period_ns) >> 32 < ns ? period_ns : 0;
}

static __always_inline RecordPart take(__u64 ns, __u32 draw) {
        RecordPart part = { .ns = ns };

        if (is_of_length(ns))
                part.weight_ns = weigh(ns, draw);
        return part;
}

/* lengths */

/*
 * Empty but for a recording. It has its memory from the beginning: an interrupt may wake many
 * threads that all have new rows, and the allocator for programs keeps one ready on each CPU.
 */
struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, RECORD_MAX_LENGTH_ROWS);
        __type(key, RecordLengthKey);
        __type(value, RecordLengths);
} record_lengths SEC(".maps");

/* Verified by itself, as it has many ways through. */
__noinline int which_length(__u64 ns) {
        __u64 us = ns / 1000;
        int which = 0;

        if (us == 0)
                return 0;
        if (us >> (RECORD_LENGTHS - 1))
                return RECORD_LENGTHS - 1;
        for (int bits = 16; bits > 0; bits /= 2)
                if (us >> bits) {
                        us >>= bits;
                        which += bits;
                }
        return which + 1;
}

/*
 * A wait of @task, which is wanted, in @place is over. @is_known: it has been for @ns, and not for
 * longer.
 */
static __noinline int count_length(struct task_struct *task, __u32 place, __u64 ns,
                                   _Bool is_known) {
        static const RecordLengths none;
        RecordLengthKey key = { .place = place };
        RecordLengths *lengths;
        __u32 which;

        if (!task || !control.record.has_lengths)
                return 0;
        if (!is_known) {
                COUNT_RECORD(n_unknown_lengths);
                return 0;
        }
        if (!is_of_length(ns))
                return 0;
        __builtin_memcpy(key.comm, task->comm, sizeof(key.comm));
        __builtin_memcpy(key.process, task->group_leader->comm, sizeof(key.process));
        lengths = bpf_map_lookup_elem(&record_lengths, &key);
        if (!lengths) {
                /* Another CPU may have been faster. */
                (void) bpf_map_update_elem(&record_lengths, &key, &none, BPF_NOEXIST);
                lengths = bpf_map_lookup_elem(&record_lengths, &key);
        }
        if (!lengths) {
                COUNT_RECORD(n_lost_lengths);
                return 0;
        }
        which = (__u32) which_length(ns) & (RECORD_LENGTHS - 1);
        __sync_fetch_and_add(&lengths->n[which], 1);
        __sync_fetch_and_add(&lengths->ns[which], ns);
        return 0;
}

/* in the program of wake-ups */

static __always_inline _Bool wants_waker(__u32 place) {
        return control.record.wakers == RECORD_WAKERS_ALL ||
               (control.record.wakers == RECORD_WAKERS_LOCKS && place == RECORD_PLACE_lock);
}

/* A wait of @task in @place, of which the recording has @ns, is over. */
static __always_inline void record_wake(struct task_struct *task, __u32 place, __u64 ns,
                                        __u64 now_ns) {
        Recorded *of = is_recorded(task) ? find_recorded(task, recording_id()) : 0;
        _Bool has_ended = recording_end() != 0;

        if (!of)
                return;
        of->queue_since_ns = now_ns;
        of->wait = take(ns, of->draw != 0 ? of->draw : bpf_get_prandom_u32());
        if (has_ended && ns != 0 && !claim_wait(of))
                of->wait.weight_ns = 0;
        if (of->draw == 0)
                of->wake = !wants_waker(place) ? RECORD_WAKE_NONE
                           : has_ended         ? RECORD_WAKE_LATER
                                               : RECORD_WAKE_UNKNOWN;
        of->draw = 0;
        of->place = place;
}

/* samples */

static __always_inline void describe(RecordSample *sample, struct task_struct *task) {
        struct mm_struct *mm = task->mm;

        __builtin_memset(sample, 0, sizeof(*sample) - sizeof(sample->frames));
        sample->tid = task->pid;
        sample->tgid = task->tgid;
        sample->is_kernel_thread = is_thread_of_kernel(task);
        sample->start_boottime_ns = task->start_boottime;
        sample->image = task->group_leader->start_boottime + task->self_exec_id;
        if (mm)
                sample->start_stack = mm->start_stack;
        sample->seen_ns = bpf_ktime_get_ns();
        sample->place = _RECORD_PLACE_MAX;
        __builtin_memcpy(sample->comm, task->comm, sizeof(sample->comm));
        __builtin_memcpy(sample->process, task->group_leader->comm, sizeof(sample->process));
}

/*
 * A mapping may end anywhere, so pages are read one by one, each to its end: a bound within the
 * loop doubles the paths that the verifier follows with every page. Returns how many bytes there
 * are.
 */
static __always_inline __u32 copy_stack(RecordSpace *space, __u64 sp) {
        __u64 most = control.record.n_stack_bytes, part;
        __u32 n = 0, at;

        for (__u32 i = 0; i <= RECORD_MAX_STACK_BYTES / RECORD_STACK_PAGE && n < most; i++) {
                part = RECORD_STACK_PAGE - ((sp + n) & (RECORD_STACK_PAGE - 1));
                at = n & (RECORD_MAX_STACK_BYTES - 1);
                /* The verifier of older kernels wants the bounds at the call. */
                asm volatile("" : "+r"(at), "+r"(part));
                at &= RECORD_MAX_STACK_BYTES - 1;
                if (part > RECORD_STACK_PAGE)
                        break;
                if (bpf_probe_read_user(space->stack + at, part, (const void *) (sp + n)) < 0)
                        break;
                n += part;
        }
        if (n == 0 && most > 0)
                COUNT_RECORD(n_without_stack);
        return n < most ? n : (__u32) most;
}

/* Those that the thread entered the kernel with. Returns its stack pointer. */
static __always_inline __u64 read_registers(RecordSample *sample, struct task_struct *task) {
        struct pt_regs *regs = (struct pt_regs *) bpf_task_pt_regs(task);

        if (sample->is_kernel_thread || control.record.n_stack_bytes == 0)
                return 0;
        sample->has_registers = 1;
        if (bpf_core_field_exists(regs->orig_ax)) {
                (void) bpf_probe_read_kernel(sample->registers, 21 * sizeof(__u64), regs);
                return sample->registers[19];
        }
        (void) bpf_probe_read_kernel(sample->registers, 34 * sizeof(__u64), regs);
        return sample->registers[31];
}

/* @task is the current one. */
static __always_inline void read_user_mode(RecordSpace *space, struct task_struct *task) {
        __u64 sp = read_registers(&space->sample, task);
        long n;

        if (!space->sample.has_registers)
                return;
        if (!control.record.has_pointers) {
                space->sample.n_stack_bytes = copy_stack(space, sp);
                return;
        }
        n = bpf_get_task_stack(task, space->stack, RECORD_MAX_CALLERS * sizeof(__u64),
                               BPF_F_USER_STACK);
        space->sample.has_callers = n > 0;
        if (n > 0)
                space->sample.n_stack_bytes = (__u32) n;
        else
                COUNT_RECORD(n_without_stack);
}

/* Returns whether there was room for it. */
static __always_inline _Bool put_sample(RecordSpace *space) {
        __u64 n = space->sample.n_stack_bytes;
        _Bool is_put;

        asm volatile("" : "+r"(n));
        if (n > RECORD_MAX_STACK_BYTES)
                n = RECORD_MAX_STACK_BYTES;
        is_put = bpf_ringbuf_output(&record_ring, &space->sample, sizeof(space->sample) + n,
                                    BPF_RB_NO_WAKEUP) == 0;
        if (space->sample.is_waker) {
                if (!is_put)
                        COUNT_RECORD(n_lost_wakes);
        } else if (is_put)
                COUNT_RECORD(n_samples);
        else
                COUNT_RECORD(n_lost_ring);
        return is_put;
}

static __always_inline RecordSpace *find_space(__u32 which) {
        __u32 key = bpf_get_smp_processor_id() * _RECORD_SPACE_MAX + which;
        RecordSpace *space = bpf_map_lookup_elem(&record_spaces, &key);

        if (!space || __sync_lock_test_and_set(&space->is_busy, 1) != 0) {
                COUNT_RECORD(n_busy);
                return 0;
        }
        return space;
}

static __always_inline __u64 pending_key(const struct task_struct *task) {
        return (__u64) task->pid << 32 | (__u32) (task->start_boottime >> 10);
}

/*
 * Nobody puts the sample of a thread that a recording left on its way, and the table has an end.
 * Verified by itself.
 */
__noinline int forget_pending(__u64 key) {
        if (has_recording)
                (void) bpf_map_delete_elem(&record_pending, &key);
        return 0;
}

/*
 * Notes who ends a wait of @woken that has lasted for @ns, if the wait will be taken. The number
 * that is drawn here decides that, when the thread is on a run queue, which may be a moment later
 * and on another CPU. The functions on the stack of the current task tell whether the task or an
 * interrupt in it ends the wait.
 */
static __always_inline void note_waker(void *context, struct task_struct *woken, Recorded *of,
                                       __u64 ns) {
        struct task_struct *task = bpf_get_current_task_btf();
        __u64 later_ns = ns + control.record.period_ns / 1024;
        RecordSpace *space;
        long n;

        of->draw = bpf_get_prandom_u32() | 1;
        of->wake = RECORD_WAKE_UNKNOWN;
        if ((!is_of_length(ns) && !is_of_length(later_ns)) || weigh(later_ns, of->draw) == 0 ||
            !is_wanted(woken))
                return;
        space = find_space(RECORD_SPACE_CLOCK);
        if (!space)
                return;
        describe(&space->sample, task);
        space->sample.is_waker = 1;
        space->sample.hides_frames = control.record.has_frames == 0;
        space->sample.wake = __sync_fetch_and_add(&control.record.n_wakes, 1) + RECORD_WAKE_FIRST;
        n = bpf_get_stack(context, space->sample.frames, sizeof(space->sample.frames), 0);
        space->sample.n_frames = n > 0 ? (__u32) n / sizeof(__u64) : 0;
        if (task->pid != 0) /* an idle CPU was interrupted */
                read_user_mode(space, task);
        if (put_sample(space))
                of->wake = space->sample.wake;
        space->is_busy = 0;
}

/* Puts the sample that waits for its thread; @goes_on: that is the current one, and is seen. */
static __noinline int put_pending(struct task_struct *task, _Bool goes_on) {
        const RecordPending *pending;
        RecordSpace *space;
        __u64 key;

        if (!task)
                return 0;
        key = pending_key(task);
        pending = bpf_map_lookup_elem(&record_pending, &key);
        space = pending ? find_space(RECORD_SPACE_HOOK) : 0;
        if (!space)
                return 0;
        describe(&space->sample, task);
        space->sample.wait = pending->wait;
        space->sample.queue = pending->queue;
        space->sample.wake = pending->wake;
        space->sample.place = (__u8) pending->place;
        space->sample.n_frames = pending->n_frames;
        __builtin_memcpy(space->sample.frames, pending->frames, sizeof(pending->frames));
        if (goes_on) {
                if (pending->wait.weight_ns != 0)
                        (void) read_object(task, pending->place, &space->sample.object);
                read_user_mode(space, task);
        } else {
                space->sample.is_late = 1;
                COUNT_RECORD(n_late);
        }
        (void) put_sample(space);
        space->is_busy = 0;
        (void) bpf_map_delete_elem(&record_pending, &key);
        return 0;
}

/* in the program of switches */

static __always_inline void record_leave(struct task_struct *task, _Bool is_queued, __u64 id,
                                         __u64 now_ns) {
        Recorded *of = find_recorded(task, id);

        if (!of)
                return;
        if (of->is_pending) {
                of->is_pending = 0;
                (void) put_pending(task, 0);
        }
        if (of->queue_since_ns != 0)
                COUNT_RECORD(n_unseen);
        of->queue_since_ns = is_queued ? now_ns : 0;
        of->wait.weight_ns = 0;
}

static __always_inline void record_enter(struct task_struct *task, __u64 id, __u64 now_ns) {
        Recorded *of = bpf_task_storage_get(&recorded, task, 0, 0);
        RecordPending *pending;
        RecordPart queue;
        __u32 zero = 0;
        __u64 key;
        long n = 0;

        if (!of || of->id != id || of->queue_since_ns == 0)
                return;
        queue = take(recorded_ns(of->queue_since_ns, now_ns), bpf_get_prandom_u32());
        of->queue_since_ns = 0;
        if (!is_wanted(task))
                return;
        (void) count_length(task, RECORD_PLACE_run_queue, queue.ns, 1);
        if (queue.weight_ns == 0 && of->wait.weight_ns == 0)
                return;
        pending = bpf_map_lookup_elem(&record_scratch, &zero);
        if (!pending)
                return;
        pending->wait = of->wait;
        pending->queue = queue;
        pending->place = of->wait.weight_ns != 0 ? of->place : _RECORD_PLACE_MAX;
        pending->wake = of->wait.weight_ns != 0 ? of->wake : RECORD_WAKE_NONE;
        of->wait.weight_ns = 0;
        if (control.record.has_frames)
                n = bpf_get_task_stack(task, pending->frames, sizeof(pending->frames), 0);
        if (n < 0) {
                COUNT_RECORD(n_without_frames);
                n = 0;
        }
        pending->n_frames = (__u32) n / sizeof(__u64);
        key = pending_key(task);
        if (bpf_map_update_elem(&record_pending, &key, pending, 0) < 0)
                COUNT_RECORD(n_lost_pending);
        else
                of->is_pending = 1;
}

/* @is_queued: @previous could go on at once. */
static __noinline int record_switch(struct task_struct *previous, struct task_struct *next,
                                    _Bool is_queued) {
        __u64 id = recording_id(), now_ns = bpf_ktime_get_ns();

        if (previous && is_recorded(previous))
                record_leave(previous, is_queued, id, now_ns);
        if (next && is_recorded(next))
                record_enter(next, id, now_ns);
        return 0;
}

/* of their own */

static __always_inline int go_on(void) {
        struct task_struct *task = bpf_get_current_task_btf();
        __u64 id = recording_id();
        Recorded *of;

        if (id == 0)
                return 0;
        of = bpf_task_storage_get(&recorded, task, 0, 0);
        if (!of || of->id != id || !of->is_pending)
                return 0;
        of->is_pending = 0;
        return put_pending(task, 1);
}

/* Since 6.15. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(record_go_on, _Bool is_switch) {
        return is_switch ? go_on() : 0;
}

/*
 * Before; a thread that goes on elsewhere (it was preempted, or entered before this was attached)
 * is not seen, and its sample is late.
 */
SEC("fexit/schedule")
int BPF_PROG(record_return) {
        return go_on();
}

/*
 * The functions of the kernel, as /proc/kallsyms has them for those who may see addresses. That
 * takes CAP_SYSLOG, which opens the kernel's log as well, and services are kept from the file.
 */
SEC("iter/ksym")
int record_symbols(struct bpf_iter__ksym *context) {
        struct kallsym_iter *symbol = context->ksym;
        char type;

        if (!symbol) /* the last call */
                return 0;
        type = symbol->type | 0x20;
        if (type != 't' && type != 'w')
                return 0;
        if (symbol->module_name[0])
                BPF_SEQ_PRINTF(context->meta->seq, "%lx %c %s [%s]\n", symbol->value, type,
                               symbol->name, symbol->module_name);
        else
                BPF_SEQ_PRINTF(context->meta->seq, "%lx %c %s\n", symbol->value, type,
                               symbol->name);
        return 0;
}

/* How often the clock of each CPU has run: where it stands still there is none. */
struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(map_flags, BPF_F_MMAPABLE);
        __uint(max_entries, 1); /* as many as there are CPUs, when it is loaded */
        __type(key, __u32);
        __type(value, __u64);
} record_ticks SEC(".maps");

/* Run by a clock of each CPU. */
SEC("perf_event")
int record_clock(void *context) {
        struct task_struct *task = bpf_get_current_task_btf();
        __u32 cpu = bpf_get_smp_processor_id();
        __u64 *n_ticks = bpf_map_lookup_elem(&record_ticks, &cpu);
        RecordSpace *space;
        long n = 0;

        if (n_ticks)
                ++*n_ticks;
        if (recording_id() == 0 || recording_end() != 0 || !is_recorded(task) || !is_wanted(task))
                return 0;
        space = find_space(RECORD_SPACE_CLOCK);
        if (!space)
                return 0;
        describe(&space->sample, task);
        space->sample.running.weight_ns = control.record.clock_ns;
        /* In user mode there are none. */
        if (control.record.has_frames)
                n = bpf_get_stack(context, space->sample.frames, sizeof(space->sample.frames), 0);
        space->sample.n_frames = n > 0 ? (__u32) n / sizeof(__u64) : 0;
        read_user_mode(space, task);
        (void) put_sample(space);
        space->is_busy = 0;
        return 0;
}
