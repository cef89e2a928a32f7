/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Table
 *
 * Rows of cells under headers. A pipe gets every cell whole. A terminal gets lines that fit:
 * columns shrink as far as they may, then the least important ones are left out, and
 * table_omitted() says which. A cell that is too wide for its column is cut with an ellipsis, or
 * continued in the lines below. Rows are printed in blocks, which bounds the memory for any number
 * of rows; columns only grow from block to block. No line ends in a blank.
 *
 * Cells must be printable (render/printable.h). The first failure sticks, and table_end() returns
 * it, so that the calls between need no check.
 */

#include <stdint.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/terminal.h"

#define TABLE_MAX_COLUMNS 32

typedef struct TableColumn {
        const char *header;
        bool right;       /* aligned right, as numbers are */
        size_t shrink_to; /* the width it may shrink to on a narrow terminal; 0: it never shrinks */
        unsigned omit;    /* the column with the highest number is omitted first; 0: never */
        bool keep_end;    /* cut at the front, because the end of a path says more */
        bool idle_first;  /* omitted before all others if it says only "0" and "-" */
        bool extra;       /* only there if no other column has to shrink for it */
        bool only_told;   /* only there if a cell says more than "0" or "-", also in a pipe */
        bool absent;      /* not there, in a pipe neither */
        size_t give_to;   /* the width it shrinks to before it is omitted itself; 0: it does not */
} TableColumn;

typedef struct Table Table;

typedef enum TableLegend {
        TABLE_LEGEND_SHOWN,
        TABLE_LEGEND_HIDDEN, /* no line of headers */
} TableLegend;

/*
 * @columns, @terminal and @out are borrowed. Until the first rows are printed, the caller may still
 * change how a column is treated, for example by its members omit and absent.
 */
_must_check_ int table_new(const TableColumn *columns, size_t n_columns, const Terminal *terminal,
                           TableLegend legend, FILE *out, Table **ret);
Table *table_free(Table *table);
DEFINE_CLEANUP(Table *, table_free);
/* Before the first row: continues cells that are too wide instead of cutting them. */
void table_set_wrap(Table *table);

/* Begins the next cell of a row: append its text. An empty cell is shown as "-". */
Buffer *table_cell(Table *table);
/* After one cell a column. Bit i of @bold prints cell i bold on a terminal. */
int table_end_row(Table *table, uint32_t bold);
/* A row of texts that exist already. */
int table_add(Table *table, const char *const cells[], uint32_t bold);
/* A line across all columns; in a table that wraps, a row with only a first cell. */
int table_add_heading(Table *table, const char *text);

/* A failure of the caller, which sticks like one of the table; 0 is none. */
void table_fail(Table *table, int error);

/* No row was added, and nothing failed: table_end() would print the line of headers alone. */
bool table_is_empty(const Table *table);
/* Prints the remaining rows, and the headers of a table without rows. 0 or the first failure. */
_must_check_ int table_end(Table *table);
/* After the first block of rows: true if a terminal had no room for the column. */
bool table_omits(const Table *table, size_t column);
/*
 * Appends the headers of the columns that were left out, joined by ", ", but for extra ones and
 * those that said nothing.
 */
void table_omitted(const Table *table, Buffer *names);
