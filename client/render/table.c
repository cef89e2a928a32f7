/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/printable.h"

#define BLOCK_ROWS 4096
#define ELLIPSIS "\u2026"
#define BOLD "\033[1m"
#define NOT_BOLD "\033[0m"

struct Table {
        const TableColumn *columns;
        size_t n_columns;
        const Terminal *terminal;
        FILE *out;
        bool wrap;
        bool headed; /* the line of headers is printed, or not wanted */
        int error;   /* the first failure, -errno */

        Buffer cells;    /* of the rows that are not printed yet, row by row, each with its NUL */
        size_t n_begun;  /* cells of the row that is being added; the last of them has no NUL yet */
        size_t cell_at;  /* where that last cell begins */
        bool in_heading; /* the row that is being added */
        uint32_t bold[BLOCK_ROWS];
        bool is_heading[BLOCK_ROWS]; /* the first cell is printed across all columns */
        size_t n_rows;

        size_t widths[TABLE_MAX_COLUMNS]; /* of the widest cell so far */
        bool told[TABLE_MAX_COLUMNS];     /* a cell had more than "0" or "-" */
        bool omitted[TABLE_MAX_COLUMNS];
        size_t given[TABLE_MAX_COLUMNS]; /* of its width, instead of being omitted */
        bool laid_out;                   /* the columns to omit have been chosen for good */

        Buffer line, clipped; /* scratch space for printing */
};

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
                table->widths[i] = table->headed ? 0 : printable_width(span_of(columns[i].header));
        *ret = table;
        return 0;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;
        buffer_done(&table->cells);
        buffer_done(&table->line);
        buffer_done(&table->clipped);
        free(table);
        return NULL;
}

void table_set_wrap(Table *table) {
        table->wrap = true;
}

void table_fail(Table *table, int error) {
        if (table->error == 0)
                table->error = error;
}

/* Counts the columns that a line of these widths has too many for the terminal. */
static size_t excess(const Table *table, const size_t *widths) {
        size_t total = 0;

        for (size_t i = 0; i < table->n_columns; i++)
                if (!table->omitted[i])
                        total += widths[i] + (total > 0);
        return total > table->terminal->columns ? total - table->terminal->columns : 0;
}

/* Shrinks the widest column that may shrink by one, so that no column shrinks alone. */
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

/* The least important column shrinks, if that is enough, or is omitted. */
static bool give_one(Table *table, size_t *widths) {
        size_t least = SIZE_MAX, n = excess(table, widths);

        for (size_t i = 0; i < table->n_columns; i++)
                if (!table->omitted[i] && table->columns[i].omit > 0 &&
                    (least == SIZE_MAX || table->columns[i].omit > table->columns[least].omit))
                        least = i;
        if (least == SIZE_MAX)
                return false;
        if (table->columns[least].give_to > 0 && widths[least] >= table->columns[least].give_to + n)
                table->given[least] = n;
        else
                table->omitted[least] = true;
        return true;
}

/*
 * Fills @widths. The first block decides which columns a narrow terminal has no room for, so that
 * all lines have the same columns.
 */
static void lay_out(Table *table, size_t *widths) {
        for (size_t i = 0; i < table->n_columns && !table->laid_out; i++)
                if (table->columns[i].absent || (table->columns[i].only_told && !table->told[i]))
                        table->omitted[i] = true;
        /* Columns that say nothing, and then extra ones, make room before a name is cut. */
        if (table->terminal->out && !table->laid_out) {
                for (size_t i = table->n_columns; i-- > 0 && excess(table, table->widths) > 0;)
                        if (table->columns[i].idle_first && !table->told[i])
                                table->omitted[i] = true;
                for (size_t i = table->n_columns; i-- > 0 && excess(table, table->widths) > 0;)
                        if (table->columns[i].extra)
                                table->omitted[i] = true;
        }
        do {
                memcpy(widths, table->widths, sizeof(table->widths));
                if (!table->terminal->out)
                        break;
                for (size_t i = 0; i < table->n_columns; i++)
                        widths[i] -= MIN_OF(widths[i], table->given[i]);
                while (excess(table, widths) > 0 && shrink_one(table, widths))
                        ;
        } while (excess(table, widths) > 0 && !table->laid_out && give_one(table, widths));
        table->laid_out = true;
}

/*
 * Counts the bytes of @text that go on a line of @width: up to a character that separates names if
 * there is one in the second half, else as many as fit.
 */
static size_t fit_line(const char *text, size_t width) {
        size_t n = printable_fit(span_of(text), width, NULL);

        for (size_t i = n; i > n / 2; i--)
                if (strchr(" /.-_:,", text[i - 1]))
                        return i;
        return n > 0 ? n : strlen(text); /* one character is wider than the column */
}

/* As much of @text as fits, with an ellipsis for the rest; valid until the next call. */
static Span clip(Table *table, const char *text, size_t width, bool keep_end) {
        Buffer *clipped = &table->clipped;

        buffer_clear(clipped);
        if (keep_end) {
                buffer_append_text(clipped, ELLIPSIS);
                while (printable_width(span_of(text)) > width - 1) {
                        size_t n = printable_fit(span_of(text), 1, NULL);

                        if (n == 0) /* a wide character */
                                n = printable_fit(span_of(text), 2, NULL);
                        if (n == 0)
                                break;
                        text += n;
                }
                buffer_append_text(clipped, text);
        } else {
                buffer_append(clipped, text, printable_fit(span_of(text), width - 1, NULL));
                buffer_append_text(clipped, ELLIPSIS);
        }
        buffer_append_byte(clipped, '\0');
        table_fail(table, buffer_failure(clipped));
        return buffer_failure(clipped) == 0 ? span_of(clipped->bytes) : (Span){};
}

/* Appends @text to the line, padded to the column's width. */
static void put_cell(Table *table, size_t column, Span text, size_t width, bool bold) {
        size_t text_width = printable_width(text);
        int pad = text_width < width ? (int) (width - text_width) : 0;
        bool right = table->columns[column].right, is_last = true;

        for (size_t i = column + 1; is_last && i < table->n_columns; i++)
                is_last = table->omitted[i];
        bold = bold && table->terminal->colour && text.n > 0;
        buffer_append_format(&table->line, "%s%*s", bold ? BOLD : "", right ? pad : 0, "");
        buffer_append(&table->line, text.bytes, text.n);
        buffer_append_format(&table->line, "%*s%s ", right || is_last ? 0 : pad, "",
                             bold ? NOT_BOLD : "");
}

/* Prints the line without the blanks at its end, and begins the next one. */
static void put_line(Table *table) {
        Buffer *line = &table->line;

        while (line->n > 0 && line->bytes[line->n - 1] == ' ')
                line->n--;
        buffer_append_byte(line, '\n');
        table_fail(table, buffer_failure(line));
        if (table->error == 0 && fwrite(line->bytes, 1, line->n, table->out) != line->n)
                table_fail(table, errno > 0 ? -errno : -EIO);
        buffer_clear(line);
}

static void print_block(Table *table) {
        const char *cells[TABLE_MAX_COLUMNS] = {}, *next = table->cells.bytes;
        size_t widths[TABLE_MAX_COLUMNS];
        bool is_done;
        Span heading;

        lay_out(table, widths);
        for (size_t i = 0; !table->headed && i < table->n_columns; i++) {
                const char *header = table->columns[i].header;
                Span shown = span_of(header);

                if (table->omitted[i])
                        continue;
                if (printable_width(shown) > widths[i])
                        shown = clip(table, header, widths[i], false);
                put_cell(table, i, shown, widths[i], true);
        }
        if (!table->headed)
                put_line(table);
        table->headed = true;
        for (size_t row = 0; row < table->n_rows; row++) {
                for (size_t i = 0; i < table->n_columns; i++) {
                        cells[i] = next;
                        next += strlen(next) + 1;
                }
                /* A row whose cells wrap takes several lines. */
                for (is_done = table->is_heading[row]; !is_done;) {
                        is_done = true;
                        for (size_t i = 0; i < table->n_columns; i++) {
                                Span shown = span_of(cells[i]);
                                size_t n = shown.n;

                                if (table->omitted[i])
                                        continue;
                                if (printable_width(shown) > widths[i] && table->wrap)
                                        shown.n = n = fit_line(cells[i], widths[i]);
                                else if (printable_width(shown) > widths[i])
                                        shown = clip(table, cells[i], widths[i],
                                                     table->columns[i].keep_end);
                                put_cell(table, i, shown, widths[i], table->bold[row] >> i & 1);
                                cells[i] += n;
                                is_done = is_done && *cells[i] == '\0';
                        }
                        put_line(table);
                }
                if (!table->is_heading[row])
                        continue;
                heading = span_of(cells[0]);
                if (table->terminal->out && printable_width(heading) > table->terminal->columns)
                        heading = clip(table, cells[0], table->terminal->columns, true);
                buffer_append(&table->line, heading.bytes, heading.n);
                put_line(table);
        }
        table->n_rows = 0;
        buffer_clear(&table->cells);
}

static void end_cell(Table *table) {
        /* A cell of two sides says nothing if one was nothing and the other was not measured. */
        static const char *const nothing[] = { "0", "-", "0\u2192-", "-\u21920" };
        size_t column = table->n_begun - 1;
        bool is_told = true;
        const char *text;

        if (table->n_begun == 0)
                return;
        if (table->cells.n == table->cell_at)
                buffer_append_byte(&table->cells, '-');
        buffer_append_byte(&table->cells, '\0');
        if (table->in_heading || buffer_failure(&table->cells) != 0)
                return;
        text = table->cells.bytes + table->cell_at;
        for (size_t i = 0; i < ELEMENTSOF(nothing); i++)
                is_told = is_told && strcmp(text, nothing[i]) != 0;
        table->widths[column] = MAX_OF(table->widths[column], printable_width(span_of(text)));
        table->told[column] = table->told[column] || is_told;
}

Buffer *table_cell(Table *table) {
        end_cell(table);
        assert(table->n_begun < table->n_columns);
        table->n_begun++;
        table->cell_at = table->cells.n;
        return &table->cells;
}

/* After a failure rows are no longer collected: they would be put together wrongly. */
int table_end_row(Table *table, uint32_t bold) {
        assert(table->n_begun == table->n_columns);
        end_cell(table);
        table->n_begun = 0;
        table_fail(table, buffer_failure(&table->cells));
        if (table->error != 0) {
                table->n_rows = 0;
                buffer_clear(&table->cells);
                return table->error;
        }
        table->bold[table->n_rows] = bold;
        table->is_heading[table->n_rows++] = table->in_heading;
        if (table->n_rows == BLOCK_ROWS)
                print_block(table);
        return table->error;
}

int table_add(Table *table, const char *const cells[], uint32_t bold) {
        for (size_t i = 0; i < table->n_columns; i++)
                buffer_append_text(table_cell(table), cells[i]);
        return table_end_row(table, bold);
}

int table_add_heading(Table *table, const char *text) {
        table->in_heading = !table->wrap;
        buffer_append_text(table_cell(table), text);
        for (size_t i = 1; i < table->n_columns; i++)
                buffer_append_byte(table_cell(table), ' '); /* not "-" */
        (void) table_end_row(table, 0);
        table->in_heading = false;
        return table->error;
}

bool table_is_empty(const Table *table) {
        return table->n_rows == 0 && !table->laid_out && table->error == 0;
}

int table_end(Table *table) {
        if (table->error == 0 && (table->n_rows > 0 || !table->headed))
                print_block(table);
        return table->error;
}

bool table_omits(const Table *table, size_t column) {
        return table->omitted[column];
}

void table_omitted(const Table *table, Buffer *names) {
        for (size_t i = 0; i < table->n_columns; i++)
                if (table->omitted[i] && !table->columns[i].extra && !table->columns[i].absent &&
                    (table->told[i] || !table->columns[i].idle_first))
                        buffer_append_format(names, "%s%s", names->n > 0 ? ", " : "",
                                             table->columns[i].header);
}
