/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/exited-row.h"

#include <stddef.h>

#include "base/macro.h"
#include "base/name.h"
#include "snapshot/thread-column.h"

bool exited_row_carries(MetricId id) {
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
static const char *const count_names[] = { EXITED_COUNT_COLUMNS(COUNT_NAME)
                                                   EXITED_LATER_COLUMNS(COUNT_NAME) "started_by" };

#define COUNT_SLOT(name) offsetof(ExitedRow, name),
static const size_t count_slots[] = { EXITED_COUNT_COLUMNS(COUNT_SLOT)
                                              EXITED_LATER_COLUMNS(COUNT_SLOT) };

const char *exited_column_name(ExitedColumn column) {
        return column < _COLUMN_MAX ? thread_column_name(column)
                                    : count_names[column - _COLUMN_MAX];
}

ExitedColumn exited_column_find(Span name) {
        unsigned count = name_find(name, count_names, ELEMENTSOF(count_names));
        ThreadColumn column;

        if (count < ELEMENTSOF(count_names))
                return _COLUMN_MAX + count;
        column = thread_column_find(name);
        if (column >= _COLUMN_IDENTITY_MAX && column < _COLUMN_MAX)
                return exited_row_carries((MetricId) (column - _COLUMN_IDENTITY_MAX))
                               ? column
                               : _EXITED_COLUMN_MAX;
        for (size_t i = 0; i < ELEMENTSOF(identity); i++)
                if (identity[i] == column)
                        return column;
        return _EXITED_COLUMN_MAX;
}

uint64_t *exited_column_count(ExitedRow *row, ExitedColumn column) {
        return (uint64_t *) (void *) ((char *) row + count_slots[column - _COLUMN_MAX]);
}

/* Called for every column, in the order of a row's cells. */
typedef void (*ColumnVisit)(JsonWriter *writer, const ExitedRow *row, ExitedColumn column);

static void visit_columns(JsonWriter *writer, const ExitedRow *row, ColumnVisit visit) {
        for (size_t i = 0; i < ELEMENTSOF(identity); i++)
                visit(writer, row, identity[i]);
        for (ExitedColumn column = _COLUMN_MAX; column < _EXITED_COLUMN_MAX; column++)
                visit(writer, row, column);
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (exited_row_carries((MetricId) id))
                        visit(writer, row, _COLUMN_IDENTITY_MAX + id);
}

static void write_name(JsonWriter *writer, const ExitedRow *row, ExitedColumn column) {
        json_write_text(writer, exited_column_name(column));
}

void exited_columns_write(JsonWriter *writer) {
        visit_columns(writer, NULL, write_name);
}

/* rows */

static bool has_column(const ExitedRow *row, ExitedColumn column) {
        if (column < _EXITED_COLUMN_COUNTS_MAX)
                return true;
        if (column == EXITED_COLUMN_started_by)
                return row->started_by.bytes != NULL;
        return column == EXITED_COLUMN_owner ? row->has_owner : row->has_times;
}

static void write_cell(JsonWriter *writer, const ExitedRow *row, ExitedColumn column) {
        if (column < _COLUMN_MAX)
                thread_cell_write(writer, &row->sample, column);
        else if (!has_column(row, column))
                json_write_null(writer);
        else if (column == EXITED_COLUMN_started_by)
                json_write_name(writer, row->started_by);
        else
                json_write_u64(
                        writer,
                        *(const uint64_t *) (const void *) ((const char *) row +
                                                            count_slots[column - _COLUMN_MAX]));
}

int exited_row_encode(Buffer *buffer, const ExitedRow *row) {
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

/* A member that files of earlier versions do not have is left out. */
static void write_member(JsonWriter *writer, const ExitedRow *row, ExitedColumn column) {
        if (!has_column(row, column))
                return;
        json_write_key(writer, exited_column_name(column));
        write_cell(writer, row, column);
}

void exited_row_write_members(JsonWriter *writer, const ExitedRow *row) {
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

_Static_assert(offsetof(LedgerSummary, has_losses) == ELEMENTSOF(member_slots) * sizeof(uint64_t),
               "every count of the ledger is written and read");

#define MOVED_LOST_NAME "moved_lost"
#define GREW_NAME "folded_grew_boottime_ns"
#define OWNERS_NAME "owners"

// clang-format off
#define LOSS_MEMBERS(M) M(owner) M(folded_rows) M(overflow_exits) M(folded_grew_boottime_ns)
// clang-format on

static const char *const loss_names[] = { LOSS_MEMBERS(MEMBER_NAME) };

#define LOSS_SLOT(name) offsetof(OwnerLoss, name),
static const size_t loss_slots[] = { LOSS_MEMBERS(LOSS_SLOT) };

void owner_losses_write_json(JsonWriter *writer, const OwnerLoss *losses, size_t n) {
        json_write_key(writer, OWNERS_NAME);
        json_write_array(writer);
        for (const OwnerLoss *loss = losses; loss < losses + n; loss++) {
                json_write_object(writer);
                for (size_t i = 0; i < ELEMENTSOF(loss_names); i++)
                        if (loss_slots[i] == offsetof(OwnerLoss, owner) && !loss->has_owner)
                                json_write_member_null(writer, loss_names[i]);
                        else
                                json_write_member_u64(
                                        writer, loss_names[i],
                                        *(const uint64_t *) (const void *) ((const char *) loss +
                                                                            loss_slots[i]));
                json_write_end(writer);
        }
        json_write_end(writer);
}

void ledger_summary_write_json(JsonWriter *writer, const LedgerSummary *ledger) {
        json_write_object(writer);
        for (size_t i = 0; i < ELEMENTSOF(member_names); i++)
                json_write_member_u64(writer, member_names[i],
                                      *(const uint64_t *) (const void *) ((const char *) ledger +
                                                                          member_slots[i]));
        if (ledger->has_losses) {
                json_write_member_u64(writer, MOVED_LOST_NAME, ledger->moved_lost);
                json_write_member_u64(writer, GREW_NAME, ledger->folded_grew_boottime_ns);
                owner_losses_write_json(writer, ledger->losses, ledger->n_losses);
        }
        json_write_end(writer);
}

typedef struct LossScan {
        OwnerLoss loss;
        unsigned seen; /* bits of members */
} LossScan;

static int on_loss_member(void *userdata, JsonScanner *scanner, Span key) {
        LossScan *scan = userdata;
        unsigned i = name_find(key, loss_names, ELEMENTSOF(loss_names));
        uint64_t *place;
        JsonToken token;

        if (i == ELEMENTSOF(loss_names))
                return json_scanner_skip(scanner);
        scan->seen |= 1u << i;
        place = (uint64_t *) (void *) ((char *) &scan->loss + loss_slots[i]);
        if (place != &scan->loss.owner)
                return json_scanner_u64(scanner, place);
        (void) json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        scan->loss.has_owner = true;
        return json_scanner_has_u64(scanner, place)
                       ? 0
                       : json_scanner_fail(scanner, "an owner is an integer or null");
}

static int scan_losses(JsonScanner *scanner, LedgerSummary *ledger) {
        JsonToken token;
        int r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);

        for (;;) {
                LossScan scan = {};

                if (r == 0)
                        r = json_scanner_next(scanner, &token);
                if (r != 0 || token == JSON_TOKEN_ARRAY_END)
                        return r;
                if (token != JSON_TOKEN_OBJECT || ledger->n_losses == OWNER_LOSSES_MAX)
                        return json_scanner_fail(scanner, "at most 64 objects are expected");
                r = json_scanner_members(scanner, on_loss_member, &scan);
                if (r == 0 && scan.seen != (1u << ELEMENTSOF(loss_names)) - 1)
                        r = json_scanner_fail(scanner, "an owner of rows lacks a member");
                ledger->losses[ledger->n_losses++] = scan.loss;
        }
}

typedef struct LedgerScan {
        LedgerSummary ledger;
        unsigned seen; /* bits of members */
} LedgerScan;

static int on_member(void *userdata, JsonScanner *scanner, Span key) {
        LedgerScan *scan = userdata;
        unsigned i = name_find(key, member_names, ELEMENTSOF(member_names));

        if (span_is(key, OWNERS_NAME) || span_is(key, GREW_NAME)) {
                scan->ledger.has_losses = true;
                return span_is(key, OWNERS_NAME)
                               ? scan_losses(scanner, &scan->ledger)
                               : json_scanner_u64(scanner, &scan->ledger.folded_grew_boottime_ns);
        }
        if (span_is(key, MOVED_LOST_NAME))
                return json_scanner_u64(scanner, &scan->ledger.moved_lost);
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

#define BIT_OF(column) (1u << ((column) -_COLUMN_MAX))
#define ALL_COUNTS (BIT_OF(_EXITED_COLUMN_COUNTS_MAX) - 1)
#define ALL_TIMES                                                                \
        (BIT_OF(EXITED_COLUMN_folded) | BIT_OF(EXITED_COLUMN_born_boottime_ns) | \
         BIT_OF(EXITED_COLUMN_grew_boottime_ns))

static void begin_row(void *row) {
        ExitedReader *reader = row;

        thread_reader_begin(&reader->thread);
        reader->started_by = (NameSlot){};
        reader->seen = 0;
}

static int read_cell(void *row, unsigned column, JsonToken token) {
        ExitedReader *reader = row;
        JsonScanner *scanner = reader->thread.scanner;

        if (column < _COLUMN_MAX)
                return thread_reader_cell(&reader->thread, column, token);
        if (column >= _EXITED_COLUMN_COUNTS_MAX && token == JSON_TOKEN_NULL)
                return 0;
        if (column == EXITED_COLUMN_started_by)
                return thread_reader_name(&reader->thread, token, &reader->started_by);
        if (!json_scanner_has_u64(scanner, exited_column_count(&reader->row, column)))
                return json_scanner_fail(scanner, "an integer from 0 to 2^64-1 is expected");
        reader->seen |= BIT_OF(column);
        return 0;
}

static int end_row(void *row) {
        ExitedReader *reader = row;
        int r;

        if ((reader->seen & ALL_COUNTS) != ALL_COUNTS)
                return json_scanner_fail(reader->thread.scanner,
                                         "exits, lives_ns, accounted, young and young_run_ns "
                                         "must have a value");
        r = thread_reader_end(&reader->thread);
        if (r != 0)
                return r;
        reader->row.sample = reader->thread.sample;
        reader->row.started_by = thread_reader_span(&reader->thread, &reader->started_by);
        reader->row.has_owner = (reader->seen & BIT_OF(EXITED_COLUMN_owner)) != 0;
        reader->row.has_times = (reader->seen & ALL_TIMES) == ALL_TIMES;
        return 0;
}

const TableRows exited_rows = {
        .n_columns = _EXITED_COLUMN_MAX,
        .column_name = exited_column_name,
        .find_column = exited_column_find,
        .begin = begin_row,
        .cell = read_cell,
        .end = end_row,
};

/* threads that changed their names */

static const ThreadColumn moved_columns[] = {
        COLUMN_tid,     COLUMN_tgid, COLUMN_start_time_clock_ticks,
        COLUMN_pcomm,   COLUMN_comm, COLUMN_cgroup,
        COLUMN_kthread, COLUMN_self,
};

void moved_columns_write(JsonWriter *writer) {
        for (size_t i = 0; i < ELEMENTSOF(moved_columns); i++)
                json_write_text(writer, thread_column_name(moved_columns[i]));
}

int moved_row_encode(Buffer *buffer, const ThreadSample *ended) {
        size_t n_before = buffer->n;
        JsonWriter json;
        int r;

        json_writer_init(&json, buffer);
        json_write_array(&json);
        for (size_t i = 0; i < ELEMENTSOF(moved_columns); i++)
                thread_cell_write(&json, ended, moved_columns[i]);
        json_write_end(&json);
        r = json_writer_finish(&json);
        if (r < 0)
                buffer_truncate(buffer, n_before);
        return r;
}

static unsigned find_moved_column(Span name) {
        ThreadColumn column = thread_column_find(name);

        for (size_t i = 0; i < ELEMENTSOF(moved_columns); i++)
                if (moved_columns[i] == column)
                        return column;
        return _COLUMN_MAX;
}

static int end_moved(void *row) {
        ThreadReader *reader = row;
        int r;

        r = thread_reader_end(reader);
        if (r == 0 && (reader->sample.tid == 0 || reader->sample.tgid == 0))
                return json_scanner_fail(reader->scanner, "tid and tgid must have a value");
        return r;
}

const TableRows moved_rows = {
        .n_columns = _COLUMN_MAX,
        .column_name = thread_column_name,
        .find_column = find_moved_column,
        .begin = thread_reader_begin,
        .cell = thread_reader_cell,
        .end = end_moved,
};
