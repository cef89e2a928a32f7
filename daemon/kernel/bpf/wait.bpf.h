/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The account of waits: for how long, and how often, each thread slept uninterruptibly on storage
 * or for another reason. Nearly all switches and wake-ups are of other threads, and leave at the
 * first test.
 *
 * The kernel's own account of block I/O (delay accounting) is wrong from 6.12 on for threads that
 * compete for a CPU; this one is exact, and needs no setting.
 */

#include "kernel/bpf/task-record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x0002u
#define TASK_DEAD 0x0080u
#define TASK_NOLOAD 0x0400u /* threads of the kernel that idle */

static __always_inline __u32 read_state(const struct task_struct *task) {
        if (bpf_core_field_exists(task->__state))
                return *(volatile const __u32 *) &task->__state;
        return (__u32) ((const struct task_struct___state *) task)->state;
}

typedef struct Wait {
        TaskWaits known;
        /* of the thread, when the wait in progress began */
        __u64 n_voluntary, run_ns, run_delay_ns;
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

/*
 * Some hosts run no program while certain tasks of theirs are on the CPU, and a wake-up comes from
 * whatever was interrupted: then the thread waits again, and how its last wait ended is not known.
 * If it has not slept in between, the wait is what the kernel's own counts of running and of
 * waiting for a CPU leave of the time.
 */
static __always_inline void end_unseen(Wait *wait, struct task_struct *task, __u64 now_ns) {
        __u64 ns = now_ns - wait->known.since_ns, awake_ns;

        if (!bpf_core_field_exists(task->sched_info.run_delay) ||
            task->nvcsw - wait->n_voluntary != 1)
                return;
        awake_ns = task->se.sum_exec_runtime - wait->run_ns + task->sched_info.run_delay -
                   wait->run_delay_ns;
        end(&wait->known, ns > awake_ns ? ns - awake_ns : 0);
}

static __always_inline void remember(Wait *wait, struct task_struct *task, __u64 now_ns) {
        wait->known.is_storage = BPF_CORE_READ_BITFIELD(task, in_iowait);
        wait->known.since_ns = now_ns;
        wait->n_voluntary = task->nvcsw;
        wait->run_ns = task->se.sum_exec_runtime;
        if (bpf_core_field_exists(task->sched_info.run_delay))
                wait->run_delay_ns = task->sched_info.run_delay;
}

/*
 * @state is why @task left the CPU: by now its own state may be another one, for a wake-up may have
 * come in between. A thread that was preempted on its way into a wait is not waiting yet.
 */
static __always_inline int is_wait(unsigned int state, _Bool is_preempted) {
        return (state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD) && !is_preempted;
}

static __always_inline void begin_wait(struct task_struct *task) {
        Wait *wait = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        __u64 now_ns;

        if (!wait)
                return;
        now_ns = bpf_ktime_get_ns();
        if (wait->known.since_ns != 0)
                end_unseen(wait, task, now_ns);
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

        if (!task || !is_wait(read_state(task), 0))
                return 0;
        wait = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!wait || wait->known.since_ns != 0)
                return 0;
        remember(wait, task, bpf_ktime_get_ns());
        if (!is_wait(read_state(task), 0))
                wait->known.since_ns = 0;
        return 0;
}

/*
 * A wait is over when the thread is on a run queue again, where the kernel begins to count that it
 * waits for a CPU: an idle one may have to be woken before that, which takes as long as a fast disk
 * does. The state is gone by then, but the kernel remembers of each thread whether it counted for
 * the load average when it was last switched out, which it does in the waits that are begun here.
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(end_wait, struct task_struct *woken) {
        Wait *wait;

        if (!BPF_CORE_READ_BITFIELD(woken, sched_contributes_to_load))
                return 0;
        wait = bpf_task_storage_get(&waits, woken, 0, 0);
        if (wait && wait->known.since_ns != 0)
                end(&wait->known, bpf_ktime_get_ns() - wait->known.since_ns);
        return 0;
}
