/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "base/span.h"

/* Between two times that rows are made fewer; and so many new ones are worth it. */
#define MIN_INTERVAL_NS NSEC_PER_SEC
#define MIN_MADE(max_rows) ((max_rows) / 64)
#define AGING_INTERVAL_NS (600 * NSEC_PER_SEC)

static Span key_of(const void *owner, size_t element) {
        const ExitTable *table = owner;

        return (Span){ (const char *) &table->rows[element].key, sizeof(LedgerKey) };
}

static Span owner_of(const void *owner, size_t element) {
        const ExitTable *table = owner;

        return (Span){ (const char *) &table->owners[element].uid, sizeof(uint64_t) };
}

/* The place of the row among all, or INDEX_NONE: there is no memory for it. */
static size_t append_row(ExitTable *table, const LedgerKey *key) {
        Span bytes = { (const char *) key, sizeof(*key) };

        if (ARRAY_RESERVE(table->rows, table->n_rows_allocated, table->n_rows + 1) < 0 ||
            index_add(&table->index, bytes, table->n_rows) < 0)
                return INDEX_NONE;
        table->rows[table->n_rows] = (LedgerRow){ .key = *key };
        return table->n_rows++;
}

static size_t find_row(const ExitTable *table, const LedgerKey *key) {
        Span bytes = { (const char *) key, sizeof(*key) };

        return index_find(&table->index, bytes, key_of, table);
}

/* The last one is that of all others. */
static LedgerOwner *find_owner(ExitTable *table, uint32_t uid) {
        const uint64_t id = (uint64_t) uid + 1;
        Span bytes = { (const char *) &id, sizeof(id) };
        size_t found = index_find(&table->owner_index, bytes, owner_of, table);

        if (found == INDEX_NONE && table->n_owners < LEDGER_MAX_OWNERS &&
            index_add(&table->owner_index, bytes, table->n_owners) == 0) {
                found = table->n_owners++;
                table->owners[found] = (LedgerOwner){ .uid = id };
        }
        return &table->owners[found == INDEX_NONE ? LEDGER_MAX_OWNERS : found];
}

int exit_table_init(ExitTable *table, size_t max_rows) {
        const LedgerKey others = { .flags = LEDGER_OVERFLOW, .owner = LEDGER_OTHERS };

        *table = (ExitTable){ .max_rows = max_rows };
        table->owners = calloc(LEDGER_MAX_OWNERS + 1, sizeof(*table->owners));
        if (!table->owners || append_row(table, &others) == INDEX_NONE) {
                exit_table_done(table);
                return -ENOMEM;
        }
        return 0;
}

void exit_table_done(ExitTable *table) {
        free(table->rows);
        free(table->owners);
        index_done(&table->index);
        index_done(&table->owner_index);
        *table = (ExitTable){};
}

static bool is_pressed(const ExitTable *table) {
        for (size_t i = 0; i <= LEDGER_MAX_OWNERS; i++)
                if (table->owners[i].n_rows > 0 &&
                    ledger_is_pressed(i < LEDGER_MAX_OWNERS ? (uint32_t) (table->owners[i].uid - 1)
                                                            : LEDGER_OTHERS,
                                      table->owners[i].n_rows, table->n_counted, table->max_rows))
                        return true;
        return false;
}

static void count(ExitTable *table, const LedgerKey *key) {
        if (key->flags & LEDGER_OVERFLOW)
                return;
        find_owner(table, key->owner)->n_rows++;
        table->n_counted++;
}

/* The row for what finds no other, which an owner gets when it is needed. */
static size_t find_overflow(ExitTable *table, const LedgerKey *from) {
        LedgerKey key = { .flags = LEDGER_OVERFLOW | (from->flags & LEDGER_OF_SELF),
                          .owner = from->owner };
        size_t row = find_row(table, &key);

        if (row == INDEX_NONE &&
            find_owner(table, from->owner) != &table->owners[LEDGER_MAX_OWNERS])
                row = append_row(table, &key);
        return row == INDEX_NONE ? table->others : row;
}

void exit_table_add(ExitTable *table, const LedgerKey *key, const LedgerValues *values) {
        const LedgerOwner *owner = find_owner(table, key->owner);
        LedgerValues added = *values;
        size_t row = find_row(table, key);

        if (row == INDEX_NONE &&
            ledger_has_room(key->owner, owner->n_rows + 1, table->n_counted + 1, table->max_rows)) {
                row = append_row(table, key);
                if (row != INDEX_NONE) {
                        count(table, key);
                        table->n_made++;
                }
        }
        if (row == INDEX_NONE) {
                row = find_overflow(table, key);
                added.n_overflow = values->exits;
        }
        ledger_values_add(&table->rows[row].values, &added);
}

/* There is memory for as many elements as there were. */
static void rebuild(ExitTable *table) {
        index_clear(&table->index);
        table->n_counted = 0;
        for (size_t i = 0; i <= LEDGER_MAX_OWNERS; i++)
                table->owners[i].n_rows = 0;
        for (size_t i = 0; i < table->n_rows; i++) {
                const LedgerKey *key = &table->rows[i].key;
                Span bytes = { (const char *) key, sizeof(*key) };

                (void) !index_add(&table->index, bytes, i);
                count(table, key);
                if (key->owner == LEDGER_OTHERS && key->flags == LEDGER_OVERFLOW)
                        table->others = i;
        }
        table->n_made = 0;
}

void exit_table_tidy(ExitTable *table, uint64_t now_ns) {
        const LedgerCoarsening how = {
                .max_rows = table->max_rows,
                .idle_since_ns = now_ns - MIN_OF(now_ns, LEDGER_IDLE_NS),
        };
        bool is_due = table->n_made >= MIN_MADE(table->max_rows) &&
                      now_ns - table->tidied_ns >= MIN_INTERVAL_NS && is_pressed(table);

        if (!is_due && now_ns - table->tidied_ns < AGING_INTERVAL_NS)
                return;
        table->tidied_ns = now_ns;
        if (ledger_rows_coarsen(table->rows, &table->n_rows, &how) == 0)
                rebuild(table);
}
