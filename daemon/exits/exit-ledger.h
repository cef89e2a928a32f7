/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitLedger
 *
 * The ledger of the dead as messages of taskstats tell it, for a host without BPF. Each message
 * that was taken is in exactly one row, at the latest when the ledger is told.
 *
 * A message does not have the name of the thread's process. If /proc does not have it any more
 * either, the first thread of the process has ended and its message is on the way, because the
 * kernel sends a message before it lets a process vanish. So such a thread waits until nothing
 * waits in the socket.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "exits/exit-record.h"
#include "exits/exit-table.h"
#include "exits/process-names.h"
#include "kernel/taskstats/exit-socket.h"

#define EXIT_LEDGER_UNKNOWN "[unknown]" /* in place of the name of a process */

typedef struct ExitLedger ExitLedger;

typedef struct ExitLedgerSetup {
        int proc_fd;                      /* borrowed; negative: there is none */
        pid_t self;                       /* the main process; 0: it is not known */
        const LedgerOwn *own;             /* borrowed; NULL: nobody tells who calls */
        size_t max_rows;                  /* EXIT_TABLE_MAX_ROWS; tests take less */
        const Subordinates *subordinates; /* borrowed; NULL: none are known */
        uint64_t now_ns;                  /* CLOCK_BOOTTIME: it begins now */
} ExitLedgerSetup;

/* -ENOMEM, or -errno: there are no random bytes for an id. */
_must_check_ int exit_ledger_new(const ExitLedgerSetup *setup, ExitLedger **ret);
ExitLedger *exit_ledger_free(ExitLedger *ledger);
DEFINE_CLEANUP(ExitLedger *, exit_ledger_free);

void exit_ledger_take(ExitLedger *ledger, const ExitBatch *batch, uint64_t now_ns);
/*
 * A sealed file with all rows (ledger-file.h), and a new generation begins. *ret is the caller's.
 * -errno.
 */
_must_check_ int exit_ledger_tell(ExitLedger *ledger, uint64_t now_ns, int *ret);

/* Borrowed until the next call. */
const ExitTable *exit_ledger_table(const ExitLedger *ledger);
