/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/moved-row.h"

#include "snapshot/thread-column.h"

static const ThreadColumn columns[] = {
        COLUMN_tid,     COLUMN_tgid, COLUMN_start_time_clock_ticks,
        COLUMN_pcomm,   COLUMN_comm, COLUMN_cgroup,
        COLUMN_kthread, COLUMN_self,
};

/* writing */

void moved_columns_write(JsonWriter *writer) {
        for (size_t i = 0; i < ELEMENTSOF(columns); i++)
                json_write_text(writer, thread_column_name(columns[i]));
}

int moved_row_encode(Buffer *buffer, const ThreadSample *ended) {
        size_t n_before = buffer->n;
        JsonWriter json;
        int r;

        json_writer_init(&json, buffer);
        json_write_array(&json);
        for (size_t i = 0; i < ELEMENTSOF(columns); i++)
                thread_cell_write(&json, ended, columns[i]);
        json_write_end(&json);
        r = json_writer_finish(&json);
        if (r < 0)
                buffer_truncate(buffer, n_before);
        return r;
}

/* reading */

static unsigned find_column(Span name) {
        ThreadColumn column = thread_column_find(name);

        for (size_t i = 0; i < ELEMENTSOF(columns); i++)
                if (columns[i] == column)
                        return column;
        return _COLUMN_MAX;
}

static void begin_row(void *row) {
        thread_reader_begin(row);
}

static int end_row(void *row) {
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
        .find_column = find_column,
        .begin = begin_row,
        .cell = thread_reader_cell,
        .end = end_row,
};
