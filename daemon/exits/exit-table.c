/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/span.h"

static Span key_of(const void *owner, size_t element) {
        const ExitTable *table = owner;

        return (Span){ (const char *) &table->rows[element].key, sizeof(LedgerKey) };
}

int exit_table_init(ExitTable *table, size_t max_rows) {
        int r;

        *table = (ExitTable){ .max_rows = max_rows };
        r = ARRAY_RESERVE(table->rows, table->n_rows_allocated, 1u);
        if (r < 0)
                return r;
        table->rows[table->n_rows++] = (LedgerRow){ .key.flags = LEDGER_OVERFLOW };
        return 0;
}

void exit_table_done(ExitTable *table) {
        free(table->rows);
        index_done(&table->index);
        *table = (ExitTable){};
}

/* The place of the row, which may be a new one; 0 when there is no room for it. */
static size_t find_row(ExitTable *table, const LedgerKey *key) {
        Span bytes = { (const char *) key, sizeof(*key) };
        size_t found = index_find(&table->index, bytes, key_of, table);

        if (found != INDEX_NONE)
                return found;
        if (table->n_rows == table->max_rows ||
            ARRAY_RESERVE(table->rows, table->n_rows_allocated, table->n_rows + 1) < 0 ||
            index_add(&table->index, bytes, table->n_rows) < 0)
                return 0;
        table->rows[table->n_rows] = (LedgerRow){ .key = *key };
        return table->n_rows++;
}

void exit_table_add(ExitTable *table, const LedgerKey *key, const LedgerValues *values) {
        size_t row = find_row(table, key);

        ledger_values_add(&table->rows[row].values, values);
        if (row == 0)
                table->n_overflow_exits += values->exits;
}
