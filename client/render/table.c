/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/table.h"

#include <assert.h>
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "render/printable.h"

#define BLOCK_ROWS 4096
#define ELLIPSIS "\u2026"
#define BOLD "\033[1m"

struct Table {
        const TableColumn *columns;
        size_t n_columns;
        const Terminal *terminal;
        FILE *out;
        bool wrap;
        bool headed; /* the line of headers is out, or not wanted */

        Buffer cells; /* NUL-terminated, row by row */
        uint32_t bold[BLOCK_ROWS];
        bool is_heading[BLOCK_ROWS]; /* of which the first cell has the line for itself */
        size_t n_rows;

        size_t widths[TABLE_MAX_COLUMNS]; /* natural, of all rows so far */
        bool omitted[TABLE_MAX_COLUMNS];
        bool laid_out; /* what is omitted stays so */
};

static struct libscols_table *scols_free(struct libscols_table *scols) {
        scols_unref_table(scols);
        return NULL;
}
DEFINE_CLEANUP(struct libscols_table *, scols_free);

int table_new(const TableColumn *columns, size_t n_columns, const Terminal *terminal,
              TableLegend legend, FILE *out, Table **ret) {
        Table *table;

        assert(n_columns <= TABLE_MAX_COLUMNS);
        table = malloc(sizeof(*table));
        if (!table)
                return -ENOMEM;
        *table = (Table){
                .columns = columns,
                .n_columns = n_columns,
                .terminal = terminal,
                .out = out,
                .headed = legend == TABLE_LEGEND_HIDDEN,
        };
        for (size_t i = 0; i < n_columns; i++)
                table->widths[i] = table->headed ? 0 : printable_width(columns[i].header);
        *ret = table;
        return 0;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;
        buffer_done(&table->cells);
        free(table);
        return NULL;
}

void table_set_wrap(Table *table) {
        table->wrap = true;
}

/* The line with these widths is too long by so much. */
static size_t excess(const Table *table, const size_t *widths) {
        size_t total = 0;

        for (size_t i = 0; i < table->n_columns; i++)
                if (!table->omitted[i])
                        total += widths[i] + (total > 0);
        return total > table->terminal->columns ? total - table->terminal->columns : 0;
}

/* Takes from the widest column that may shrink, so that all give before one gives much. */
static bool shrink_one(const Table *table, size_t *widths) {
        size_t widest = SIZE_MAX;

        for (size_t i = 0; i < table->n_columns; i++) {
                if (table->omitted[i] || table->columns[i].shrink_to == 0 ||
                    widths[i] <= table->columns[i].shrink_to)
                        continue;
                if (widest == SIZE_MAX || widths[i] > widths[widest])
                        widest = i;
        }
        if (widest == SIZE_MAX)
                return false;
        widths[widest]--;
        return true;
}

static bool omit_one(Table *table) {
        size_t least = SIZE_MAX;

        for (size_t i = 0; i < table->n_columns; i++)
                if (!table->omitted[i] && table->columns[i].omit > 0 &&
                    (least == SIZE_MAX || table->columns[i].omit > table->columns[least].omit))
                        least = i;
        if (least == SIZE_MAX)
                return false;
        table->omitted[least] = true;
        return true;
}

/* Fills @widths; decides in the first block which columns a narrow terminal goes without. */
static void lay_out(Table *table, size_t *widths) {
        do {
                memcpy(widths, table->widths, sizeof(table->widths));
                if (!table->terminal->out)
                        break;
                while (excess(table, widths) > 0 && shrink_one(table, widths))
                        ;
        } while (excess(table, widths) > 0 && !table->laid_out && omit_one(table));
        table->laid_out = true;
}

/* Bytes of @cell for this line: up to a joint of names where there is one, else all that fit. */
static size_t fit_line(const char *cell, size_t width) {
        size_t n = printable_fit(cell, width);

        if (cell[n] == '\0')
                return n;
        for (size_t i = n; i > n / 2; i--)
                if (strchr(" /.-_:,", cell[i - 1]))
                        return i;
        return n > 0 ? n : strlen(cell); /* a character that never fits */
}

static bool set_wrapped(struct libscols_line *line, size_t column, const char *cell, size_t width) {
        _cleanup_(buffer_done) Buffer lines = {};
        const char *text;
        int r = 0;

        while (r == 0 && *cell != '\0') {
                size_t n = fit_line(cell, width);

                r = lines.n > 0 ? buffer_append_byte(&lines, '\n') : 0;
                if (r == 0)
                        r = buffer_append(&lines, cell, n);
                cell += n;
        }
        if (r == 0)
                r = buffer_terminate(&lines, &text);
        return r == 0 && scols_line_set_data(line, column, text) == 0;
}

/* Where the end of @cell begins that fits into @width. */
static const char *fit_end(const char *cell, size_t width) {
        while (printable_width(cell) > width) {
                size_t n = printable_fit(cell, 1);

                if (n == 0) /* a wide character */
                        n = printable_fit(cell, 2);
                if (n == 0)
                        break;
                cell += n;
        }
        return cell;
}

/* @text, or as much of it as fits with an ellipsis, owned; NULL for want of memory. */
static char *clip(const char *text, size_t width, bool keep_end) {
        char *clipped;
        int n;

        if (printable_width(text) <= width)
                return strdup(text);
        if (keep_end)
                n = asprintf(&clipped, ELLIPSIS "%s", fit_end(text, width - 1));
        else
                n = asprintf(&clipped, "%.*s" ELLIPSIS, (int) printable_fit(text, width - 1), text);
        return n >= 0 ? clipped : NULL;
}

/* False for want of memory. */
static bool set_cell(const Table *table, struct libscols_line *line, size_t column,
                     const char *cell, size_t width, bool keep_end) {
        _cleanup_(freep) char *clipped = NULL;

        if (table->wrap && printable_width(cell) > width)
                return set_wrapped(line, column, cell, width);
        clipped = clip(cell, width, keep_end);
        return clipped && scols_line_set_data(line, column, clipped) == 0;
}

static bool add_columns(const Table *table, const size_t *widths, struct libscols_table *scols) {
        for (size_t i = 0; i < table->n_columns; i++) {
                _cleanup_(freep) char *header = NULL;
                struct libscols_column *column;

                if (table->omitted[i])
                        continue;
                header = clip(table->columns[i].header, widths[i], false);
                if (!header)
                        return false;
                /* A hint of 1 or less would be read as a share of the line. */
                /* Without a line of headers their widths must not count either. */
                column = scols_table_new_column(scols, table->headed ? NULL : header,
                                                widths[i] > 1 ? (double) widths[i] : 0,
                                                table->columns[i].right ? SCOLS_FL_RIGHT : 0);
                if (!column)
                        return false;
                /* Lines of a cell are ours to break: a joint between words is better than none. */
                if (table->wrap && table->columns[i].shrink_to > 0) {
                        (void) scols_column_set_flags(column, scols_column_get_flags(column) |
                                                                      SCOLS_FL_WRAP);
                        (void) scols_column_set_wrapfunc(column, scols_wrapnl_chunksize,
                                                         scols_wrapnl_nextchunk, NULL);
                        (void) scols_column_set_safechars(column, "\n");
                }
                if (table->terminal->colour)
                        (void) scols_cell_set_color(scols_column_get_header(column), BOLD);
        }
        return true;
}

static bool add_lines(const Table *table, const size_t *widths, struct libscols_table *scols) {
        const char *cell = table->cells.bytes;

        for (size_t row = 0; row < table->n_rows; row++) {
                struct libscols_line *line = scols_table_new_line(scols, NULL);
                size_t shown = 0;

                if (!line)
                        return false;
                for (size_t i = 0; i < table->n_columns; i++, cell += strlen(cell) + 1) {
                        if (table->omitted[i])
                                continue;
                        /* Headings replace their line when it is printed. */
                        if (!set_cell(table, line, shown, table->is_heading[row] ? " " : cell,
                                      widths[i], table->columns[i].keep_end))
                                return false;
                        if (table->terminal->colour && table->bold[row] >> i & 1)
                                (void) scols_cell_set_color(scols_line_get_cell(line, shown), BOLD);
                        shown++;
                }
        }
        return true;
}

static int print_bytes(FILE *out, const char *bytes, size_t n) {
        if (fwrite(bytes, 1, n, out) != n || fputc('\n', out) == EOF)
                return errno > 0 ? -errno : -EIO;
        return 0;
}

/* libsmartcols pads an empty or left-aligned cell also where nothing follows. */
static int print_trimmed(FILE *out, const char *line, size_t n) {
        while (n > 0 && line[n - 1] == ' ')
                n--;
        return print_bytes(out, line, n);
}

static int print_heading(const Table *table, const char *text) {
        size_t width = table->terminal->out ? table->terminal->columns : SIZE_MAX;
        _cleanup_(freep) char *clipped = NULL;

        if (printable_width(text) <= width)
                return print_bytes(table->out, text, strlen(text));
        if (asprintf(&clipped, ELLIPSIS "%s", fit_end(text, width - 1)) < 0)
                return -ENOMEM;
        return print_bytes(table->out, clipped, strlen(clipped));
}

/* What libsmartcols made of the block: the line of headers, where it was wanted, and the rows. */
static int print_lines(const Table *table, const char *text) {
        const char *cell = table->cells.bytes;
        size_t row = 0;
        int r = 0;

        for (bool is_headers = !table->headed; r == 0 && *text != '\0'; is_headers = false) {
                size_t n = strcspn(text, "\n");

                /* A row is a line, unless cells go on in the next; then there is no heading. */
                if (!is_headers && row < table->n_rows && table->is_heading[row])
                        r = print_heading(table, cell);
                else
                        r = print_trimmed(table->out, text, n);
                for (size_t i = 0; !is_headers && row < table->n_rows && i < table->n_columns; i++)
                        cell += strlen(cell) + 1;
                row += !is_headers;
                text += n + (text[n] == '\n');
        }
        return r;
}

static int print_headers(const Table *table, const size_t *widths) {
        _cleanup_(buffer_done) Buffer line = {};
        int r;

        for (size_t i = 0; i < table->n_columns; i++) {
                _cleanup_(freep) char *header = NULL;
                int pad;

                if (table->omitted[i])
                        continue;
                header = clip(table->columns[i].header, widths[i], false);
                if (!header)
                        return -ENOMEM;
                pad = (int) (widths[i] - printable_width(header));
                r = buffer_append_format(&line, "%s%*s%s%*s", line.n > 0 ? " " : "",
                                         table->columns[i].right ? pad : 0, "", header,
                                         table->columns[i].right ? 0 : pad, "");
                if (r < 0)
                        return r;
        }
        return print_trimmed(table->out, line.bytes, line.n);
}

static int print_block(Table *table) {
        _cleanup_(scols_freep) struct libscols_table *scols = NULL;
        _cleanup_(freep) char *text = NULL;
        size_t widths[TABLE_MAX_COLUMNS];
        int r;

        lay_out(table, widths);
        if (table->n_rows == 0)
                return table->headed ? 0 : print_headers(table, widths);

        scols = scols_new_table();
        if (!scols)
                return -ENOMEM;
        (void) scols_table_enable_noencoding(scols, 1); /* cells are printable as they come */
        (void) scols_table_enable_noheadings(scols, table->headed);
        (void) scols_table_enable_colors(scols, table->terminal->colour);
        (void) scols_table_set_termforce(scols,
                                         SCOLS_TERMFORCE_NEVER); /* we have clipped already */
        if (!add_columns(table, widths, scols) || !add_lines(table, widths, scols))
                return -ENOMEM;
        if (scols_print_table_to_string(scols, &text) != 0)
                return -ENOMEM;

        r = print_lines(table, text);
        table->headed = true;
        table->n_rows = 0;
        buffer_clear(&table->cells);
        return r;
}

/* As much as is printed at once; a heading's width does not count. */
static int add_cells(Table *table, const char *const cells[], uint32_t bold, bool is_heading) {
        size_t n_before = table->cells.n;
        int r;

        for (size_t i = 0; i < table->n_columns; i++) {
                const char *cell = cells[i][0] != '\0' ? cells[i] : "-";

                r = buffer_append(&table->cells, cell, strlen(cell) + 1);
                if (r < 0) {
                        table->cells.n = n_before;
                        return r;
                }
                if (!is_heading)
                        table->widths[i] = MAX_OF(table->widths[i], printable_width(cell));
        }
        table->bold[table->n_rows] = bold;
        table->is_heading[table->n_rows++] = is_heading;
        return table->n_rows < BLOCK_ROWS ? 0 : print_block(table);
}

int table_add(Table *table, const char *const cells[], uint32_t bold) {
        return add_cells(table, cells, bold, false);
}

int table_add_heading(Table *table, const char *text) {
        const char *cells[TABLE_MAX_COLUMNS] = { text };

        for (size_t i = 1; i < table->n_columns; i++)
                cells[i] = " "; /* nothing would be shown as absent */
        return add_cells(table, cells, 0, !table->wrap);
}

void table_row_done(TableRow *row) {
        for (size_t i = 0; i < TABLE_MAX_COLUMNS; i++)
                buffer_done(&row->cells[i]);
}

Buffer *table_row_next(TableRow *row) {
        Buffer *cell;

        assert(row->n < TABLE_MAX_COLUMNS);
        cell = &row->cells[row->n++];
        buffer_clear(cell);
        return cell;
}

int table_add_row(Table *table, TableRow *row, uint32_t bold) {
        const char *texts[TABLE_MAX_COLUMNS];
        int r;

        assert(row->n == table->n_columns);
        for (size_t i = 0; i < row->n; i++) {
                r = buffer_terminate(&row->cells[i], &texts[i]);
                if (r < 0)
                        return r;
        }
        row->n = 0;
        return table_add(table, texts, bold);
}

bool table_is_empty(const Table *table) {
        return table->n_rows == 0 && !table->laid_out;
}

int table_end(Table *table) {
        if (table->n_rows == 0 && table->headed)
                return 0;
        return print_block(table);
}

int table_omitted(const Table *table, Buffer *ret_names) {
        int r;

        for (size_t i = 0; i < table->n_columns; i++) {
                if (!table->omitted[i])
                        continue;
                r = buffer_append_format(ret_names, "%s%s", ret_names->n > 0 ? ", " : "",
                                         table->columns[i].header);
                if (r < 0)
                        return r;
        }
        return 0;
}
