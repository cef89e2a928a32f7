/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TaskObject
 *
 * The kernel objects that are loaded once and held by their descriptors: programs that are attached
 * (links), and the maps and the file that captures read. Their names are used wherever they are
 * passed on.
 */

#include "base/cleanup.h"

// clang-format off
#define TASK_OBJECTS(O)                                                                            \
        O(TASKS,         "tasks")          /* link: the task iterator */                           \
        O(CONTROL,       "control")        /* map: LedgerControl */                                \
        O(ROWS,          "rows")           /* map: LedgerKey to LedgerValues */                    \
        O(RECORDS,       "records")        /* map: LedgerRecord */                                 \
        O(CGROUPS,       "cgroups")        /* map: id to LedgerCgroup */                           \
        O(MOVED,         "moved")          /* map: MovedLife to MovedEnd */                        \
        O(FOLDED,        "folded")         /* file: rows that were folded, see ledger-file.h */    \
        O(CALLS,         "calls")          /* map: a ring in which programs call for a fold */     \
        O(EXIT,          "exit")           /* link: threads that exit */                           \
        O(FREE,          "free")           /* link: tasks that are freed */                        \
        O(SWITCH,        "switch")         /* link: threads that leave their CPU */                \
        O(END_WAIT,      "endwait")        /* link: threads that are on a run queue again */       \
        O(OWN,           "own")            /* map: LedgerOwn, which captures do not get */         \
        O(SEED,          "seed")           /* link: an iterator that begins waits of an epoch */   \
        O(SAMPLES,       "samples")        /* map: the ring of a recording */                      \
        O(GO_ON,         "goon")           /* program: threads that have got a CPU */              \
        O(WAKING,        "waking")         /* program: who wakes threads */                        \
        O(CLOCK,         "clock")          /* program: what runs on a CPU */                       \
        O(FORK,          "fork")           /* program: processes and threads that begin */         \
        O(REST,          "rest")           /* link: an iterator of waits that go on */             \
        O(SYMBOLS,       "symbols")        /* link: an iterator of the kernel's functions */       \
        O(LENGTHS,       "lengths")        /* map: RecordLengthKey to RecordLengths */             \
        O(TICKS,         "ticks")          /* map: how often the clock of each CPU has run */
// clang-format on

#define TASK_OBJECT_ID(id, name) TASK_OBJECT_##id,
typedef enum TaskObject { TASK_OBJECTS(TASK_OBJECT_ID) _TASK_OBJECT_MAX } TaskObject;

#define TASK_OBJECT_NAME(id, name) name,
#define TASK_OBJECT_NAMES \
        { TASK_OBJECTS(TASK_OBJECT_NAME) }

typedef struct TaskObjects {
        int fds[_TASK_OBJECT_MAX]; /* negative: it is not there */
} TaskObjects;

#define TASK_OBJECT_NONE(id, name) [TASK_OBJECT_##id] = -EBADF,
#define TASK_OBJECTS_NONE ((TaskObjects){ .fds = { TASK_OBJECTS(TASK_OBJECT_NONE) } })

/* Closes all descriptors, which are the caller's own. */
static inline void task_objects_done(TaskObjects *objects) {
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                objects->fds[i] = fd_close(objects->fds[i]);
}
