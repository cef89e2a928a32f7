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
#define TASK_NOLOAD 0x0400u /* threads of the kernel that idle */

struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, TaskWaits);
} waits SEC(".maps");

/*
 * @state is why @previous left the CPU: by now its own state may be another one, for a wake-up may
 * have come in between. A thread that was preempted on its way into a wait is not waiting yet.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(begin_wait, _Bool is_preempted, struct task_struct *previous, struct task_struct *next,
             unsigned int state) {
        TaskWaits *wait;

        if (!(state & TASK_UNINTERRUPTIBLE) || state & TASK_NOLOAD || is_preempted)
                return 0;
        wait = bpf_task_storage_get(&waits, previous, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!wait)
                return 0;
        wait->is_storage = BPF_CORE_READ_BITFIELD(previous, in_iowait);
        wait->since_ns = bpf_ktime_get_ns();
        return 0;
}

static __always_inline int end(struct task_struct *woken) {
        TaskWaits *wait = bpf_task_storage_get(&waits, woken, 0, 0);
        __u64 ns;

        if (!wait || wait->since_ns == 0)
                return 0;
        ns = bpf_ktime_get_ns() - wait->since_ns;
        wait->since_ns = 0;
        if (wait->is_storage) {
                wait->storage_ns += ns;
                wait->n_storage++;
        } else {
                wait->other_ns += ns;
                wait->n_other++;
        }
        return 0;
}

/*
 * A wait is over when the thread is on a run queue again, where the kernel begins to count that it
 * waits for a CPU: an idle one may have to be woken before that, which takes as long as a fast disk
 * does. Of storage the flag still tells it then, of other waits the state does not: those are over
 * when their end begins.
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(end_storage_wait, struct task_struct *woken) {
        return BPF_CORE_READ_BITFIELD(woken, in_iowait) ? end(woken) : 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(end_wait, struct task_struct *woken) {
        if (!(woken->__state & TASK_UNINTERRUPTIBLE) || BPF_CORE_READ_BITFIELD(woken, in_iowait))
                return 0;
        return end(woken);
}
