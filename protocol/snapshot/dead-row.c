/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/dead-row.h"

#include <stddef.h>

#include "base/macro.h"
#include "base/name.h"

bool dead_row_carries(MetricId id) {
        switch (metric_table[id].kind) {
        case METRIC_KIND_COUNTER:
                return id != METRIC_thread_count &&
                       metric_table[id].explained_by != SOURCE_JEMALLOC;
        case METRIC_KIND_PEAK:
        case METRIC_KIND_FLOOR:
                return true;
        case METRIC_KIND_GAUGE:
        case METRIC_KIND_ORDINAL:
        case METRIC_KIND_WORD:
        case METRIC_KIND_CPUS:
                return false;
        }
        return false;
}

/* columns */

/* The columns that threads have, too, before the counts; after these come the metrics. */
static const ThreadColumn identity[] = {
        COLUMN_pcomm, COLUMN_comm, COLUMN_cgroup, COLUMN_kthread, COLUMN_self,
};

#define COUNT_NAME(name) #name,
static const char *const count_names[] = { DEAD_COUNT_COLUMNS(COUNT_NAME) };

#define COUNT_SLOT(name) offsetof(DeadRow, name),
static const size_t count_slots[] = { DEAD_COUNT_COLUMNS(COUNT_SLOT) };

static bool is_shared(ThreadColumn column) {
        if (column >= _COLUMN_IDENTITY_MAX)
                return dead_row_carries(thread_column_metric(column));
        for (size_t i = 0; i < ELEMENTSOF(identity); i++)
                if (identity[i] == column)
                        return true;
        return false;
}

const char *dead_column_name(DeadColumn column) {
        return column < _COLUMN_MAX ? thread_column_name(column)
                                    : count_names[column - _COLUMN_MAX];
}

DeadColumn dead_column_find(Span name) {
        unsigned count = name_find(name, count_names, ELEMENTSOF(count_names));
        ThreadColumn column;

        if (count < ELEMENTSOF(count_names))
                return _COLUMN_MAX + count;
        column = thread_column_find(name);
        return column < _COLUMN_MAX && is_shared(column) ? column : _DEAD_COLUMN_MAX;
}

uint64_t *dead_column_count(DeadRow *row, DeadColumn column) {
        return (uint64_t *) (void *) ((char *) row + count_slots[column - _COLUMN_MAX]);
}

/* Called for every column, in the order of a row's cells. */
typedef void (*ColumnVisit)(JsonWriter *writer, const DeadRow *row, DeadColumn column);

static void visit_columns(JsonWriter *writer, const DeadRow *row, ColumnVisit visit) {
        for (size_t i = 0; i < ELEMENTSOF(identity); i++)
                visit(writer, row, identity[i]);
        for (DeadColumn column = _COLUMN_MAX; column < _DEAD_COLUMN_MAX; column++)
                visit(writer, row, column);
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (dead_row_carries((MetricId) id))
                        visit(writer, row, thread_column_of((MetricId) id));
}

static void write_name(JsonWriter *writer, const DeadRow *row, DeadColumn column) {
        json_write_text(writer, dead_column_name(column));
}

void dead_columns_write(JsonWriter *writer) {
        visit_columns(writer, NULL, write_name);
}

/* rows */

static void write_cell(JsonWriter *writer, const DeadRow *row, DeadColumn column) {
        if (column < _COLUMN_MAX)
                thread_cell_write(writer, &row->sample, column);
        else
                json_write_u64(
                        writer,
                        *(const uint64_t *) (const void *) ((const char *) row +
                                                            count_slots[column - _COLUMN_MAX]));
}

int dead_row_encode(Buffer *buffer, const DeadRow *row) {
        size_t n_before = buffer->n;
        JsonWriter json;
        int r;

        json_writer_init(&json, buffer);
        json_write_array(&json);
        visit_columns(&json, row, write_cell);
        json_write_end(&json);

        r = json_writer_finish(&json);
        if (r < 0)
                buffer_truncate(buffer, n_before);
        return r;
}

static void write_member(JsonWriter *writer, const DeadRow *row, DeadColumn column) {
        json_write_key(writer, dead_column_name(column));
        write_cell(writer, row, column);
}

void dead_row_write_members(JsonWriter *writer, const DeadRow *row) {
        visit_columns(writer, row, write_member);
}

/* the ledger as a whole */

// clang-format off
#define LEDGER_MEMBERS(M)                                                                          \
        M(generation) M(exits) M(unfinished) M(folded_rows) M(overflow_exits) M(lost_marks)        \
        M(lost_records)
// clang-format on

#define MEMBER_NAME(name) #name,
static const char *const member_names[] = { LEDGER_MEMBERS(MEMBER_NAME) };

#define MEMBER_SLOT(name) offsetof(LedgerSummary, name),
static const size_t member_slots[] = { LEDGER_MEMBERS(MEMBER_SLOT) };

_Static_assert(sizeof(LedgerSummary) == ELEMENTSOF(member_slots) * sizeof(uint64_t),
               "every member of the ledger is written and read");

void ledger_summary_write_json(JsonWriter *writer, const LedgerSummary *ledger) {
        json_write_object(writer);
        for (size_t i = 0; i < ELEMENTSOF(member_names); i++)
                json_write_member_u64(writer, member_names[i],
                                      *(const uint64_t *) (const void *) ((const char *) ledger +
                                                                          member_slots[i]));
        json_write_end(writer);
}

typedef struct LedgerScan {
        LedgerSummary ledger;
        unsigned seen; /* bits of members */
} LedgerScan;

static int on_member(void *userdata, JsonScanner *scanner, Span key) {
        LedgerScan *scan = userdata;
        unsigned i = name_find(key, member_names, ELEMENTSOF(member_names));

        if (i == ELEMENTSOF(member_names))
                return json_scanner_skip(scanner);
        scan->seen |= 1u << i;
        return json_scanner_u64(scanner,
                                (uint64_t *) (void *) ((char *) &scan->ledger + member_slots[i]));
}

int ledger_summary_scan(JsonScanner *scanner, LedgerSummary *ret) {
        LedgerScan scan = {};
        int r;

        r = json_scanner_members(scanner, on_member, &scan);
        if (r != 0)
                return r;
        if (scan.seen != (1u << ELEMENTSOF(member_names)) - 1)
                return json_scanner_fail(scanner, "the ledger lacks a member");
        *ret = scan.ledger;
        return 0;
}
