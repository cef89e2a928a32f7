/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/dead-reader.h"

#define BIT_OF(column) (1u << ((column) -_COLUMN_MAX))
#define ALL_COUNTS (BIT_OF(_DEAD_COLUMN_COUNTS_MAX) - 1)
#define ALL_TIMES                                                            \
        (BIT_OF(DEAD_COLUMN_folded) | BIT_OF(DEAD_COLUMN_born_boottime_ns) | \
         BIT_OF(DEAD_COLUMN_grew_boottime_ns))

void dead_reader_init(DeadReader *reader, JsonScanner *scanner) {
        *reader = (DeadReader){};
        thread_reader_init(&reader->thread, scanner);
}

void dead_reader_done(DeadReader *reader) {
        thread_reader_done(&reader->thread);
}

static void begin_row(void *row) {
        DeadReader *reader = row;

        thread_reader_begin(&reader->thread);
        reader->started_by = (NameSlot){};
        reader->seen = 0;
}

static int read_cell(void *row, unsigned column, JsonToken token) {
        DeadReader *reader = row;
        JsonScanner *scanner = reader->thread.scanner;

        if (column < _COLUMN_MAX)
                return thread_reader_cell(&reader->thread, column, token);
        if (column >= _DEAD_COLUMN_COUNTS_MAX && token == JSON_TOKEN_NULL)
                return 0;
        if (column == DEAD_COLUMN_started_by)
                return thread_reader_name(&reader->thread, token, &reader->started_by);
        if (!json_scanner_has_u64(scanner, dead_column_count(&reader->row, column)))
                return json_scanner_fail(scanner, "an integer from 0 to 2^64-1 is expected");
        reader->seen |= BIT_OF(column);
        return 0;
}

static int end_row(void *row) {
        DeadReader *reader = row;
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
        reader->row.has_owner = (reader->seen & BIT_OF(DEAD_COLUMN_owner)) != 0;
        reader->row.has_times = (reader->seen & ALL_TIMES) == ALL_TIMES;
        return 0;
}

const TableRows dead_rows = {
        .n_columns = _DEAD_COLUMN_MAX,
        .column_name = dead_column_name,
        .find_column = dead_column_find,
        .begin = begin_row,
        .cell = read_cell,
        .end = end_row,
};
