/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadCounters
 *
 * Reads the counters of the threads of one process by the plans for its modules, without stopping
 * any of them. Each thread's pointer comes from the kernel, so nothing has to be searched in the
 * process; that it is a thread pointer, and still that thread's when the counters were read, is
 * checked by what was read together with them. A thread that fails a check has no counters.
 *
 * There are two ways to a pointer. The kernel keeps a copy of the register from when the thread
 * last left a CPU, which the task iterator tells; of a program that never moves the register, which
 * are all but a few, it is as good as the register itself. And it keeps where glibc has the
 * thread's list of robust mutexes, which takes a call a thread, and which musl does not tell it.
 * The copy is tried first: it costs nothing, and a wrong one (the register was moved, the thread
 * has ended, a child of vfork(2) runs on its parent's) leads to memory without this thread's
 * number, or with a list that is elsewhere. Then the list is asked for.
 *
 * Two things cannot be seen from outside. When a library with thread-local memory was unloaded and
 * jemalloc was loaded under its number, a thread that has used neither since still has the old
 * block in its vector. And a copy that a program made of all data of a thread of musl, to use it in
 * its place, looks like that thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "capture/heap/heap-failure.h"
#include "kernel/memory/heap-plan.h"
#include "capture/scene/scene.h"
#include "kernel/memory/process-words.h"
#include "kernel/memory/thread-pointer.h"

typedef struct ThreadCounters {
        pid_t tid;
        pid_t number;     /* that it has in its own pid namespace; 0: not known */
        uint64_t pointer; /* as the kernel saved it, of use with @number only; 0: not known */

        HeapFailure failure;             /* NONE: read */
        uint64_t allocated, deallocated; /* of all modules together */
} ThreadCounters;

typedef struct CounterRequest {
        uint16_t machine; /* EM_* */
        ProcessMemory memory;
        int (*find_robust_list)(void *userdata, pid_t tid, uint64_t *ret_head);
        void *userdata;
        ThreadGeometry geometry; /* corrected where it is found to be another one */
        size_t n_plans;
        HeapPlan plans[HEAP_MODULES_MAX];
        size_t n;
        ThreadCounters threads[BATCH_MAX_THREADS];
} CounterRequest;

/* Sets the results of all threads. */
void thread_counters_read(CounterRequest *request);
