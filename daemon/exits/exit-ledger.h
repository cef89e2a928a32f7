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

/*
 * ProcessNames
 *
 * The names of processes whose threads end, which the messages do not tell: a name is that of the
 * first thread. It is read from /proc while that lasts, or learned from the message of the first
 * thread, and remembered for a moment, because the threads of a process often end together. After
 * that a process may have another name, and its number may be that of another process.
 */

#define PROCESS_NAMES_MAX 1024u /* a power of two */
#define PROCESS_NAMES_AGE_NS UINT64_C(1000000000)

typedef struct ProcessName {
        pid_t tgid; /* 0: none is remembered here */
        char name[TASK_COMM_BYTES];
        uint64_t learned_ns;
} ProcessName;

typedef struct ProcessNames {
        int proc_fd; /* borrowed; negative: there is none */
        ProcessName names[PROCESS_NAMES_MAX];
} ProcessNames;

void process_names_init(ProcessNames *names, int proc_fd);
/* @name: padded with NULs. @now_ns: of a clock that does not go back. */
void process_names_learn(ProcessNames *names, pid_t tgid, const char name[static TASK_COMM_BYTES],
                         uint64_t now_ns);
/* Finds the name that is remembered. False, and *ret is unchanged, when there is none. */
bool process_names_recall(const ProcessNames *names, pid_t tgid, uint64_t now_ns,
                          char ret[static TASK_COMM_BYTES]);
/* The same, or what /proc has. */
bool process_names_find(ProcessNames *names, pid_t tgid, uint64_t now_ns,
                        char ret[static TASK_COMM_BYTES]);
