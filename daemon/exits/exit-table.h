/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitTable
 *
 * The rows of the listener's ledger: sums over threads that ended, by process name, thread name and
 * owner. Owners share it as they share the table of programs (ledger-record.h), and past its share
 * an owner's exits are added to a row of its own. Rows are made fewer by the same rules
 * (ledger-rows.h), here in place.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/index.h"
#include "base/macro.h"
#include "kernel/bpf/ledger-rows.h"

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
