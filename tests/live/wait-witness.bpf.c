/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Tells every switch and wake-up of chosen threads, one event each. It adds nothing up and keeps no
 * state of a thread, so that it cannot be wrong in the way that an account kept in the kernel could
 * be.
 *
 * The kernel runs the programs of a tracepoint in the order in which they were attached. note_*()
 * are attached before the account is, tell_*() after it, so that the account reads the clock
 * between them.
 */

#include "wait-witness.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, 64);
        __type(key, __u32);
        __type(value, __u32);
} chosen SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, 1 << 24);
} events SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, __u64);
} n_lost SEC(".maps");

/* When note_*() was told of the event that tell_*() is told next on this CPU; 0 once it was. */
struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, __u64);
} noted_ns SEC(".maps");

static __always_inline int note(__u64 ns) {
        __u32 zero = 0;
        __u64 *noted = bpf_map_lookup_elem(&noted_ns, &zero);

        if (noted)
                *noted = ns;
        return 0;
}

static __always_inline void tell(struct task_struct *task, WitnessKind kind, __u32 state) {
        __u32 tid = task->pid, zero = 0;
        WitnessEvent *event = NULL;
        __u64 *noted, *lost, at_ns;

        if (!bpf_map_lookup_elem(&chosen, &tid))
                return;
        at_ns = bpf_ktime_get_ns();
        noted = bpf_map_lookup_elem(&noted_ns, &zero);
        if (noted && *noted != 0)
                event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
        if (!event) {
                lost = bpf_map_lookup_elem(&n_lost, &zero);
                if (lost)
                        __sync_fetch_and_add(lost, 1);
                return;
        }
        *event = (WitnessEvent){
                .at_ns = at_ns,
                .apart_ns = at_ns - *noted,
                .start_ns = task->start_time,
                .run_ns = task->se.sum_exec_runtime,
                .run_delay_ns = task->sched_info.run_delay,
                .tid = tid,
                .kind = kind,
                .state = state,
                .is_io_wait = BPF_CORE_READ_BITFIELD(task, in_iowait),
        };
        /* User space looks by itself: to wake it would add switches to what is watched. */
        bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(note_switch) {
        return note(bpf_ktime_get_ns());
}

SEC("tp_btf/sched_waking")
int BPF_PROG(note_waking) {
        return note(bpf_ktime_get_ns());
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(note_wakeup) {
        return note(bpf_ktime_get_ns());
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tell_switch, _Bool is_preempted, struct task_struct *previous,
             struct task_struct *next, unsigned int state) {
        tell(previous, WITNESS_SWITCHED_OUT, is_preempted ? 0 : state);
        tell(next, WITNESS_SWITCHED_IN, 0);
        return note(0);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(tell_waking, struct task_struct *woken) {
        tell(woken, WITNESS_WAKING, 0);
        return note(0);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(tell_wakeup, struct task_struct *woken) {
        tell(woken, WITNESS_WOKEN, 0);
        return note(0);
}

char LICENSE[] SEC("license") = "GPL";
