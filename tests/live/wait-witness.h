/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* What the program in the kernel (wait-witness.bpf.c) tells of a thread, and user space reads. */

#ifdef __bpf__
#include "kernel/bpf/kernel-type.bpf.h"
#else
#include <linux/types.h>
#endif

typedef enum WitnessKind {
        WITNESS_SWITCHED_OUT,
        WITNESS_SWITCHED_IN,
        WITNESS_WAKING, /* the waker begins */
        WITNESS_WOKEN,  /* the thread is on a run queue */
} WitnessKind;

typedef struct WitnessEvent {
        __u64 at_ns, start_ns;      /* CLOCK_MONOTONIC: of the event, of the thread */
        __u64 run_ns, run_delay_ns; /* the kernel's counts of the thread */
        __u32 tid;
        __u32 kind;  /* WitnessKind */
        __u32 state; /* why the thread was switched out; 0: it was preempted */
        __u32 is_io_wait;
        __u64 apart_ns; /* since the program that is attached first was told of the event */
} WitnessEvent;
