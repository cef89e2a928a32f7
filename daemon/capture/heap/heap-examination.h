/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapExamination
 *
 * Finds out of one process which of its modules have counters, and how to get to them: its map, the
 * files of its modules, what they say, and the words of its memory that complete that.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/macro.h"
#include "capture/heap/heap-plan.h"
#include "capture/heap/heap-work.h"
#include "capture/heap/heap.h"
#include "capture/heap/module-table.h"
#include "capture/scene/scene.h"

/* The calls that may never return, on a thread that is started when it is first needed. */
typedef struct HeapBench {
        Heap *heap;            /* borrowed */
        Scene *scene;          /* borrowed */
        PatientThread *thread; /* owned; NULL: not started, or left behind */
} HeapBench;

void heap_bench_done(HeapBench *bench);
/* Where to put the next piece of work; NULL when no thread can be started. */
HeapWork *heap_bench_work(HeapBench *bench);
/*
 * Lets the thread work for @patience_ns at most. NONE; TIME_BUDGET when that is 0; TIMED_OUT when
 * it was too short: then what heap_bench_work() gave is gone.
 */
HeapFailure heap_bench_run(HeapBench *bench, HeapWorkKind kind, uint64_t patience_ns);

typedef struct HeapExamination {
        HeapFailure failure;
        /* It is so for as long as the process executes this program and maps no more code. */
        bool is_lasting;
        HeapVerdict verdict; /* when it is lasting */
        size_t n_plans;      /* 0 without a failure: the process does not use jemalloc */
        HeapPlan plans[HEAP_MODULES_MAX];
        ThreadGeometry geometry;
} HeapExamination;

/*
 * @table: of files in any process; @own: room for what is of this process only. @speaker: a living
 * thread of the process. -ENOMEM is left in the scene.
 */
void heap_examine(HeapBench *bench, ModuleTable *table, ModuleTable *own, const ThreadSlot *speaker,
                  HeapExamination *ret);
