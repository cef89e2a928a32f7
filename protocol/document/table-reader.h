/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TableReader
 *
 * A section that is a table, {"columns": [NAME, ...], "rows": [[CELL, ...], ...]}, read row by row.
 * Columns may come in any order; one that this program does not know is skipped, and a cell that is
 * null has no value. Only the row that is being read is kept.
 */

#include "base/macro.h"
#include "document/document-reader.h"

#define TABLE_MAX_COLUMNS 1024

/*
 * Cells of some columns take any unsigned integer. Where they stand beside each other they come
 * many at a time, which takes half as long.
 */
typedef struct TableCounts {
        bool (*has)(unsigned column);
        void (*take)(void *row, const unsigned *columns, const uint64_t *values, size_t n);
} TableCounts;

/*
 * A row is made into something by these. They return 0, JSON_E_MALFORMED with a complaint, or an
 * errno.
 */
typedef struct TableRows {
        unsigned n_columns; /* known ones: 0 to n_columns - 1 */
        const char *(*column_name)(unsigned column);
        unsigned (*find_column)(Span name); /* n_columns: there is none of that name */
        void (*begin)(void *row);
        /* A cell that is not null; its first token was read. */
        int (*cell)(void *row, unsigned column, JsonToken token);
        int (*end)(void *row);
        const TableCounts *counts; /* NULL: each cell comes by itself */
} TableRows;

/* Zeroed: of no table yet. */
typedef struct TableReader {
        const TableRows *rows;
        void *row;          /* borrowed */
        unsigned *columns;  /* owned; of each cell, rows->n_columns when it is not known */
        unsigned *n_counts; /* owned; how many cells from each on are counts */
        size_t n_columns;
        size_t n_read;    /* cells of a row that are read; the others are stepped over */
        unsigned n_first; /* columns below this are read; 0: all */
        bool has_columns, has_rows, is_in_rows;
        uint64_t n_rows;
} TableReader;

void table_reader_done(TableReader *table);

/*
 * Begins the table whose first token, @token, was read; the rows go through @row. @n_first: reads
 * the columns below this only, and does not check what comes behind the last of them in a row; 0
 * reads and checks all.
 */
_must_check_ int table_reader_begin(TableReader *table, DocumentReader *document, JsonToken token,
                                    const TableRows *rows, void *row, unsigned n_first);
/* For DocumentSection.next. */
_must_check_ int table_reader_next(TableReader *table, DocumentReader *document, bool *ret_more);
