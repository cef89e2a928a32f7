/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitTable
 *
 * The rows of the listener's ledger: sums over threads that ended, by process name and thread name.
 * Rows are never removed, because what they count may only grow; past a bound exits are added to
 * one row together, which is there from the start.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/index.h"
#include "base/macro.h"
#include "kernel/bpf/ledger-file.h"

#define EXIT_TABLE_MAX_ROWS 16384u

/* exit_table_init() makes one. */
typedef struct ExitTable {
        LedgerRow *rows; /* owned; the first one is for what finds no row */
        size_t n_rows, n_rows_allocated, max_rows;
        Index index; /* of the rows by their keys */
        uint64_t n_overflow_exits;
} ExitTable;

/* @max_rows counts the row for what finds no other. -ENOMEM. */
_must_check_ int exit_table_init(ExitTable *table, size_t max_rows);
void exit_table_done(ExitTable *table);

/* Nothing is lost for want of memory either: then it finds no row of its own. */
void exit_table_add(ExitTable *table, const LedgerKey *key, const LedgerValues *values);
