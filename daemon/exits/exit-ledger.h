/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitLedger
 *
 * Messages of taskstats make this ledger of threads that ended, for a host without BPF. Each
 * message that was taken is in exactly one row, at the latest when the ledger is told.
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
#include "base/index.h"
#include "base/macro.h"
#include "exits/exit-record.h"
#include "kernel/bpf/ledger-rows.h"
#include "kernel/taskstats/taskstats.h"

/*
 * ExitTable
 *
 * The rows of the listener's ledger: sums over threads that ended, by process name, thread name and
 * owner. Owners share it as they share the table of programs (ledger-record.h), and past its share
 * an owner's exits are added to a row of its own. Rows are made fewer by the same rules
 * (ledger-rows.h), here in place.
 */

#define EXIT_TABLE_MAX_ROWS 16384u

/* exit_table_init() makes one. */
typedef struct ExitTable {
        LedgerRow *rows; /* owned */
        size_t n_rows, n_rows_allocated, max_rows;
        size_t others;       /* the row of owners that are too many */
        size_t n_counted;    /* rows, without those for what finds no other */
        size_t n_made;       /* of these, since the table was last tidied */
        uint64_t tidied_ns;  /* CLOCK_BOOTTIME */
        Index index;         /* of the rows by their keys */
        LedgerOwner *owners; /* owned; the last one is that of all others */
        size_t n_owners;
        Index owner_index;
} ExitTable;

/* @max_rows does not count the rows for what finds no other. -ENOMEM. */
_must_check_ int exit_table_init(ExitTable *table, size_t max_rows);
void exit_table_done(ExitTable *table);

/* Nothing is lost for want of memory either: then it finds no row of its own. */
void exit_table_add(ExitTable *table, const LedgerKey *key, const LedgerValues *values);
/* Makes rows fewer where an owner has many, and those that have not grown for an hour. */
void exit_table_tidy(ExitTable *table, uint64_t now_ns);

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

/* Empty when zeroed, but for @proc_fd. */
typedef struct ProcessNames {
        int proc_fd; /* borrowed; negative: there is none */
        ProcessName names[PROCESS_NAMES_MAX];
} ProcessNames;

/* @name: padded with NULs. @now_ns: of a clock that does not go back. */
void process_names_learn(ProcessNames *names, pid_t tgid, const char name[static TASK_COMM_BYTES],
                         uint64_t now_ns);
/* Finds the name that is remembered. False, and *ret is unchanged, when there is none. */
bool process_names_recall(const ProcessNames *names, pid_t tgid, uint64_t now_ns,
                          char ret[static TASK_COMM_BYTES]);
/* The same, or what /proc has. */
bool process_names_find(ProcessNames *names, pid_t tgid, uint64_t now_ns,
                        char ret[static TASK_COMM_BYTES]);

#define EXIT_LEDGER_UNKNOWN "[unknown]" /* in place of the name of a process */

#define EXIT_LEDGER_WAITING_MAX 256u

typedef struct ExitLedger {
        ExitTable table;
        ProcessNames names;
        ExitContext context;
        ExitRecord waiting[EXIT_LEDGER_WAITING_MAX]; /* for the name of their process */
        size_t n_waiting;
        uint8_t id[16];
        uint64_t since_ns, n_told;
        uint64_t n_losses; /* how often some exits were lost; one that is unreadable is a loss */
} ExitLedger;

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
