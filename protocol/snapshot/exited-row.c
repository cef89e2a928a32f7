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

typedef enum RowForm {
        FORM_NAMES, /* of the columns; there is no row */
        FORM_CELLS,
        FORM_MEMBERS, /* of an object; what files of earlier versions do not have is left out */
} RowForm;

static void write_columns(JsonWriter *writer, const ExitedRow *row, RowForm form) {
        const size_t n_before = ELEMENTSOF(identity), n_counts = ELEMENTSOF(count_names);

        for (size_t i = 0; i < n_before + n_counts + _METRIC_MAX; i++) {
                ExitedColumn column = (ExitedColumn) (_COLUMN_MAX + i - n_before);
                bool has = true;

                if (i < n_before)
                        column = identity[i];
                else if (i >= n_before + n_counts) {
                        MetricId id = (MetricId) (i - n_before - n_counts);

                        if (!exited_row_carries(id))
                                continue;
                        column = _COLUMN_IDENTITY_MAX + (ExitedColumn) id;
                }
                if (form == FORM_NAMES) {
                        json_write_text(writer, exited_column_name(column));
                        continue;
                }
                if (column == EXITED_COLUMN_started_by)
                        has = row->started_by.bytes != NULL;
                else if (column >= _EXITED_COLUMN_COUNTS_MAX)
                        has = column == EXITED_COLUMN_owner ? row->has_owner : row->has_times;
                if (form == FORM_MEMBERS && !has)
                        continue;
                if (form == FORM_MEMBERS)
                        json_write_key(writer, exited_column_name(column));
                if (column < _COLUMN_MAX)
                        thread_cell_write(writer, &row->sample, column);
                else if (!has)
                        json_write_null(writer);
                else if (column == EXITED_COLUMN_started_by)
                        json_write_name(writer, row->started_by);
                else
                        json_write_u64(
                                writer,
                                *(const uint64_t
                                          *) (const void *) ((const char *) row +
                                                             count_slots[column - _COLUMN_MAX]));
        }
}

void exited_columns_write(JsonWriter *writer) {
        write_columns(writer, NULL, FORM_NAMES);
}

void exited_row_write_members(JsonWriter *writer, const ExitedRow *row) {
        write_columns(writer, row, FORM_MEMBERS);
}

int exited_row_encode(Buffer *buffer, const ExitedRow *row) {
        size_t n_before = buffer->n;
        JsonWriter json;
        int r;

        json_writer_init(&json, buffer);
        json_write_array(&json);
        write_columns(&json, row, FORM_CELLS);
        json_write_end(&json);

        r = json_writer_finish(&json);
        if (r < 0)
                buffer_truncate(buffer, n_before);
        return r;
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

static int scan_loss(JsonScanner *scanner, OwnerLoss *loss) {
        unsigned seen = 0;
        JsonToken token;
        Span key;
        int r;

        for (;;) {
                uint64_t *place;
                unsigned i;

                r = json_scanner_member(scanner, &key);
                if (r != 0)
                        return r;
                if (!key.bytes)
                        break;
                i = name_find(key, loss_names, ELEMENTSOF(loss_names));
                if (i == ELEMENTSOF(loss_names)) {
                        r = json_scanner_skip(scanner);
                        if (r != 0)
                                return r;
                        continue;
                }
                seen |= 1u << i;
                place = (uint64_t *) (void *) ((char *) loss + loss_slots[i]);
                if (place != &loss->owner)
                        r = json_scanner_u64(scanner, place);
                else {
                        (void) json_scanner_next(scanner, &token);
                        loss->has_owner = token != JSON_TOKEN_NULL;
                        if (loss->has_owner && !json_scanner_has_u64(scanner, place))
                                r = json_scanner_fail(scanner, "an owner is an integer or null");
                }
                if (r != 0)
                        return r;
        }
        if (seen != (1u << ELEMENTSOF(loss_names)) - 1)
                return json_scanner_fail(scanner, "an owner of rows lacks a member");
        return 0;
}

static int scan_losses(JsonScanner *scanner, LedgerSummary *ledger) {
        JsonToken token;
        int r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);

        for (;;) {
                if (r == 0)
                        r = json_scanner_next(scanner, &token);
                if (r != 0 || token == JSON_TOKEN_ARRAY_END)
                        return r;
                if (token != JSON_TOKEN_OBJECT || ledger->n_losses == OWNER_LOSSES_MAX)
                        return json_scanner_fail(scanner, "at most 64 objects are expected");
                r = scan_loss(scanner, &ledger->losses[ledger->n_losses++]);
        }
}

int ledger_summary_scan(JsonScanner *scanner, LedgerSummary *ret) {
        LedgerSummary ledger = {};
        unsigned seen = 0;
        Span key;
        int r;

        for (;;) {
                unsigned i;

                r = json_scanner_member(scanner, &key);
                if (r != 0)
                        return r;
                if (!key.bytes)
                        break;
                i = name_find(key, member_names, ELEMENTSOF(member_names));
                if (i < ELEMENTSOF(member_names)) {
                        seen |= 1u << i;
                        r = json_scanner_u64(scanner, (uint64_t *) (void *) ((char *) &ledger +
                                                                             member_slots[i]));
                } else if (span_is(key, OWNERS_NAME)) {
                        ledger.has_losses = true;
                        r = scan_losses(scanner, &ledger);
                } else if (span_is(key, GREW_NAME)) {
                        ledger.has_losses = true;
                        r = json_scanner_u64(scanner, &ledger.folded_grew_boottime_ns);
                } else if (span_is(key, MOVED_LOST_NAME))
                        r = json_scanner_u64(scanner, &ledger.moved_lost);
                else
                        r = json_scanner_skip(scanner);
                if (r != 0)
                        return r;
        }
        if (seen != (1u << ELEMENTSOF(member_names)) - 1)
                return json_scanner_fail(scanner, "the ledger lacks a member");
        *ret = ledger;
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
        .counts = &thread_counts,
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
        .counts = &thread_counts,
};
