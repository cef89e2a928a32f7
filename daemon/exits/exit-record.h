/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitRecord
 *
 * What a message of taskstats tells of a thread that ends, in the form of the ledger of the dead.
 * It lacks what the kernel does for the thread after the message, which is a good part of a short
 * life; the cgroup; migrations, clock ticks and schedstats, which the struct does not have; and
 * I/O, which it rounds down to KiB. These are left out and never 0: the row lacks the bits that
 * they need (TASK_IS_READ, TASK_HAS_IO_CALLS).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "exits/subordinates.h"
#include "kernel/bpf/ledger-file.h"
#include "kernel/taskstats/taskstats-message.h"

/* When the listener took it, and whose threads are ctprof's own. */
typedef struct ExitContext {
        uint64_t now_ns;                  /* CLOCK_BOOTTIME */
        uint64_t begun_ns;                /* likewise: when the rows were last told */
        pid_t self;                       /* the main process; 0: it is not known */
        const LedgerOwn *own;             /* borrowed: who calls; NULL: nobody tells */
        const Subordinates *subordinates; /* borrowed; NULL: none are known */
} ExitContext;

typedef struct ExitRecord {
        pid_t tid, tgid; /* tgid is 0 when the kernel does not tell it: before Linux 5.19 */
        LedgerKey key;   /* without the name of the process */
        LedgerValues values;
} ExitRecord;

ExitRecord exit_record_of(const TaskstatsExit *exit, const ExitContext *context);

/* The thread has the number of its process, and the name of the process is its own. */
static inline bool exit_record_is_leader(const ExitRecord *record) {
        return record->tid == record->tgid;
}
