/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LedgerRows
 *
 * Rows of the ledger of exits that somebody keeps in an array, and how they are made fewer. A
 * ledger may only grow, so no row is dropped: rows lose what tells them apart and become one.
 *
 * An owner has at most its share of rows. If the rows of all owners do not fit, the owner with the
 * most rows gives way first. Among the rows of an owner, those that last grew the longest time ago
 * go first. A row becomes part of a row for all parents; then of a row in which numbers in names
 * are 0, so that it stays in the group of its pattern; then of a row for each cgroup; then of a row
 * without cgroup. A row is folded as a whole, with what the kernel's table has of it.
 *
 * A row that forgets its parent loses no name: groups are the same without the parent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/bpf/ledger-record.h"
#include "metric/metric.h"

#define LEDGER_IDLE_NS UINT64_C(3600000000000)

/* The sum over both generations: is_of_odd is 0. */
typedef struct LedgerRow {
        LedgerKey key;
        LedgerValues values;
} LedgerRow;

/* A sum that is a metric as it stands, of a row that has all bits of @needs. */
typedef struct LedgerSum {
        unsigned sum;
        MetricId metric;
        uint64_t needs; /* of LedgerValues.has */
} LedgerSum;

/* The counters of counter-list.h, but schedstats. */
extern const LedgerSum ledger_counters[];
extern const size_t n_ledger_counters;

/* The places of one kind of delay in a row, and the metrics that they are. */
typedef struct LedgerDelay {
        unsigned count, total, max, min;
        MetricId count_id, total_id, max_id, min_id;
} LedgerDelay;

extern const LedgerDelay ledger_delays[_TASK_DELAY_MAX];

typedef struct LedgerCoarsening {
        size_t max_rows; /* of all owners together; shares are of that */
        /* Rows that have not grown since are folded down to a quarter of their owner's share. */
        uint64_t idle_since_ns;
        /* Bytes of a cgroup's path, which count as rows do. NULL: there are no paths. */
        size_t (*path_bytes)(void *userdata, uint64_t cgroup);
        /* Parts of the row are elsewhere, where they grow: it stays. NULL: of no row. */
        bool (*is_elsewhere)(void *userdata, const LedgerKey *key);
        void *userdata;
} LedgerCoarsening;

/* Adds @from; all the rules of rows in one place. */
void ledger_values_add(LedgerValues *values, const LedgerValues *from);

/* Takes out again what was added of one thread; false if the row does not have that much. */
bool ledger_values_take_out(LedgerValues *values, const LedgerMark *mark);
/* No thread, and nothing that one did. */
bool ledger_values_are_none(const LedgerValues *values);
/* Makes of the key of a row the next coarser one that it may have become part of; false: none. */
bool ledger_key_coarsen(LedgerKey *key);

/*
 * Room that the rows of an owner may take in an array of at most @max_rows, whether or not there is
 * more: each row makes captures longer. Root's are most of a host's.
 */
uint64_t ledger_rows_share(uint32_t owner, size_t max_rows);

/*
 * Changes the order of @rows. Says by n_folded of a row how many others it stands for. There is at
 * least one row for each owner, and past that all owners have one together. -ENOMEM, and nothing
 * has changed.
 */
_must_check_ int ledger_rows_coarsen(LedgerRow *rows, size_t *n, const LedgerCoarsening *how);

/* The names that one owner has lost. */
typedef struct LedgerLoss {
        uint32_t owner; /* LEDGER_OTHERS: of several */
        uint64_t n_folded, n_overflow;
        uint64_t grew_ns; /* when any of these rows last grew */
} LedgerLoss;

#define LEDGER_MAX_LOSSES 64u

/*
 * Adds up the losses of each owner, largest first; past a bound, all others are the last. -ENOMEM.
 */
_must_check_ int ledger_rows_losses(const LedgerRow *rows, size_t n,
                                    LedgerLoss ret[static LEDGER_MAX_LOSSES], size_t *ret_n);

/* The row has lost names to what it stands for, or is for what found no row. */
static inline bool ledger_key_is_folded(const LedgerKey *key) {
        return (key->flags & (LEDGER_OVERFLOW | LEDGER_NAMELESS | LEDGER_NUMBERLESS)) != 0;
}
