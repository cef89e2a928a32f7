/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Table
 *
 * Rows of cells under headers, laid out by libsmartcols. A pipe gets every cell whole. A terminal
 * gets lines that fit: first the columns that may shrink do, then the least important are left out,
 * and table_omitted() says which; what a column that shrank cannot hold is cut with an ellipsis, or
 * goes on in the lines below. Rows are printed in blocks, so that memory stays bounded however
 * many there are; columns only ever grow from block to block. No line ends in a blank.
 *
 * Cells must be printable (render/printable.h).
 */

#include <stdint.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/terminal.h"

#define TABLE_MAX_COLUMNS 16

typedef struct TableColumn {
        const char *header;
        bool right;       /* numbers stand flush right */
        size_t shrink_to; /* 0: never; else the columns it may be clipped to */
        unsigned omit;    /* 0: never; else the highest is left out first */
        bool keep_end;    /* clipped in front: of paths the end tells more */
} TableColumn;

typedef struct Table Table;

typedef enum TableLegend {
        TABLE_LEGEND_SHOWN,
        TABLE_LEGEND_HIDDEN, /* no line of headers */
} TableLegend;

/* @columns, @terminal and @out are borrowed. */
_must_check_ int table_new(const TableColumn *columns, size_t n_columns, const Terminal *terminal,
                           TableLegend legend, FILE *out, Table **ret);
Table *table_free(Table *table);
/* Before the first row: cells that are too wide for a terminal are continued, not cut. */
void table_set_wrap(Table *table);
DEFINE_CLEANUP(Table *, table_free);

/* One cell a column, copied; "" is shown as "-". Bit i of @bold sets cell i off on a terminal. */
_must_check_ int table_add(Table *table, const char *const cells[], uint32_t bold);

/* A row that is put together cell by cell; its memory serves the next one too. */
typedef struct TableRow {
        Buffer cells[TABLE_MAX_COLUMNS];
        size_t n;
} TableRow;

void table_row_done(TableRow *row);
/* The next cell, empty: what is appended to it stands there. */
Buffer *table_row_next(TableRow *row);
/* table_add() of the cells so far; the row is empty again. */
_must_check_ int table_add_row(Table *table, TableRow *row, uint32_t bold);
/* Prints what was not printed yet, the headers even when there was no row. */
/* A line across all columns; where cells go on in the next line, one in the first column. */
_must_check_ int table_add_heading(Table *table, const char *text);
/* No row was added; table_end() would print the line of headers alone. */
bool table_is_empty(const Table *table);
_must_check_ int table_end(Table *table);

/* Headers of the columns left out so far, joined by ", "; "" when there are none. */
_must_check_ int table_omitted(const Table *table, Buffer *ret_names);
