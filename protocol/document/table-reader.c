/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "document/table-reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_COUNTS_AT_ONCE 128U

void table_reader_done(TableReader *table) {
        free(table->columns);
        free(table->n_counts);
        *table = (TableReader){};
}

int table_reader_begin(TableReader *table, DocumentReader *document, JsonToken token,
                       const TableRows *rows, void *row, unsigned n_first) {
        if (token != JSON_TOKEN_OBJECT)
                return document_fail(document, "an object with columns and rows is expected");
        table_reader_done(table);
        *table = (TableReader){ .rows = rows, .row = row, .n_first = n_first };
        return 0;
}

static int read_columns(TableReader *table, DocumentReader *document) {
        JsonScanner *scanner = document->scanner;
        _cleanup_(buffer_done) Buffer unknown = {}; /* the names of each, between two NULs */
        JsonToken token;
        int r;

        table->has_columns = true;
        table->columns = calloc(TABLE_MAX_COLUMNS, sizeof(*table->columns));
        table->n_counts = calloc(TABLE_MAX_COLUMNS + 1, sizeof(*table->n_counts));
        if (!table->columns || !table->n_counts)
                return -ENOMEM;
        r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);
        while (r == 0) {
                size_t at = unknown.n;
                unsigned column;
                Span name;

                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                if (token != JSON_TOKEN_STRING)
                        return document_fail(document, "the name of a column is expected");
                name = scanner->string;
                column = table->rows->find_column(name);
                if (table->n_columns == TABLE_MAX_COLUMNS)
                        return document_fail(document, "there are too many columns");
                for (size_t i = 0; column < table->rows->n_columns && i < table->n_columns; i++)
                        if (table->columns[i] == column)
                                return document_fail(document, "a column is listed twice");
                /* Only the name of an unknown column counts. */
                if (column >= table->rows->n_columns) {
                        buffer_append_byte(&unknown, '\0');
                        buffer_append(&unknown, name.bytes, name.n);
                        r = buffer_append_byte(&unknown, '\0');
                        if (r < 0)
                                return r;
                        if (memmem(unknown.bytes, at, unknown.bytes + at, unknown.n - at))
                                return document_fail(document, "a column is listed twice");
                }
                table->columns[table->n_columns++] = column;
                if (table->n_first == 0 || column < table->n_first)
                        table->n_read = table->n_columns;
        }
        for (size_t i = table->rows->counts ? table->n_read : 0; i-- > 0;)
                if (table->rows->counts->has(table->columns[i]))
                        table->n_counts[i] = 1 + table->n_counts[i + 1];
        return r;
}

/* Reads what it can of the counts that begin with a cell. Returns how many cells these were. */
static size_t read_counts(TableReader *table, JsonScanner *scanner, size_t cell) {
        uint64_t values[TABLE_COUNTS_AT_ONCE];
        size_t n = MIN_OF(table->n_counts[cell], TABLE_COUNTS_AT_ONCE);

        n = json_scanner_counts(scanner, values, n);
        if (n > 0)
                table->rows->counts->take(table->row, table->columns + cell, values, n);
        return n;
}

/* The cells of a row, to its end. *ret_column is the one being read, for the complaint. */
static int read_row(TableReader *table, DocumentReader *document, unsigned *ret_column) {
        const TableRows *rows = table->rows;
        JsonScanner *scanner = document->scanner;
        JsonToken token;
        int r;

        rows->begin(table->row);
        for (size_t i = 0; i < table->n_read; i++) {
                unsigned column;

                if (table->n_counts[i] > 0)
                        i += read_counts(table, scanner, i);
                if (i == table->n_read)
                        break;
                column = table->columns[i];
                *ret_column = column;
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        return r;
                if (token == JSON_TOKEN_ARRAY_END)
                        return document_fail(document,
                                             "the row has fewer cells than there are columns");
                if (column == rows->n_columns)
                        r = json_scanner_skip(scanner);
                else if (token != JSON_TOKEN_NULL)
                        r = rows->cell(table->row, column, token);
                if (r != 0)
                        return r;
        }
        *ret_column = rows->n_columns;
        if (table->n_first > 0) {
                r = json_scanner_leave(scanner);
                return r == 0 ? rows->end(table->row) : r;
        }
        json_scanner_next(scanner, &token);
        if (token != JSON_TOKEN_ARRAY_END)
                return document_fail(document, "the row has more cells than there are columns");
        return rows->end(table->row);
}

int table_reader_next(TableReader *table, DocumentReader *document, bool *ret_more) {
        unsigned column = table->rows->n_columns;
        JsonToken token;
        Span key;
        int r;

        *ret_more = false;
        for (;;) {
                if (table->is_in_rows) {
                        json_scanner_next(document->scanner, &token);
                        if (token == JSON_TOKEN_ARRAY)
                                break;
                        if (token != JSON_TOKEN_ARRAY_END)
                                return document_fail(document, "a row must be an array");
                        table->is_in_rows = false;
                }
                r = json_scanner_member(document->scanner, &key);
                if (r != 0 || (!key.bytes && table->has_rows))
                        return r;
                if (!key.bytes)
                        return document_fail(document, "a table must have columns and rows");
                if (span_is(key, "columns"))
                        r = read_columns(table, document);
                else if (!span_is(key, "rows"))
                        r = json_scanner_skip(document->scanner);
                else if (!table->has_columns)
                        return document_fail(document, "the columns must come before the rows");
                else {
                        table->has_rows = table->is_in_rows = true;
                        r = json_scanner_expect(document->scanner, JSON_TOKEN_ARRAY);
                }
                if (r != 0)
                        return r;
        }
        table->n_rows++;
        r = read_row(table, document, &column);
        if (r != 0)
                document_blame(document, table->n_rows,
                               column < table->rows->n_columns ? table->rows->column_name(column)
                                                               : NULL);
        *ret_more = r == 0;
        return r;
}
