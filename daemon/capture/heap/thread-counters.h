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
 * One thing cannot be seen from outside: when a library with thread-local memory was unloaded and
 * jemalloc was loaded under its number, a thread that has used neither since still has the old
 * block in its vector.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "capture/heap/heap-failure.h"
#include "capture/heap/heap-plan.h"
#include "capture/scene/scene.h"
#include "kernel/memory/process-words.h"
#include "kernel/memory/thread-pointer.h"

typedef struct ThreadCounters {
        pid_t tid;
        HeapFailure failure;             /* NONE: read */
        uint64_t allocated, deallocated; /* of all modules together */
} ThreadCounters;

typedef struct CounterRequest {
        uint16_t machine; /* EM_* */
        ProcessMemory memory;
        int (*find_robust_list)(void *userdata, pid_t tid, uint64_t *ret_head);
        void *userdata;
        /*
         * The process is in a nested pid namespace, where its threads have numbers that we do not
         * know: that a pointer is still the thread's is then asked of the kernel.
         */
        bool is_nested;
        ThreadGeometry geometry; /* corrected where it is found to be another one */
        size_t n_plans;
        HeapPlan plans[HEAP_MODULES_MAX];
        size_t n;
        ThreadCounters threads[BATCH_MAX_THREADS];
} CounterRequest;

/* Sets the results of all threads. */
void thread_counters_read(CounterRequest *request);
