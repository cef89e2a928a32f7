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
#include "capture/memory/heap-bench.h"
#include "capture/memory/module-table.h"

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
 * Of the process that the bench has begun with, which is reached through @dir_fd, the directory of
 * its thread @tid. @table: of files in any process; @own: room for what is of this process only.
 * -ENOMEM.
 */
_must_check_ int heap_examine(HeapBench *bench, ModuleTable *table, ModuleTable *own, int dir_fd,
                              pid_t tid, HeapExamination *ret);
