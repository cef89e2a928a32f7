/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/account-table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"
#include "render/table.h"
#include "report/group/account-cell.h"
#include "report/overview/group-label.h"

/* The widths that names shrink to: two values in a cell leave less for them. */
#define NAME_COLUMNS 24
#define NAME_COLUMNS_OF_TWO 16
#define FIGURE_COLUMNS 80 /* that the others take with all their figures */

int account_table_new(const Session *session, ReportKind kind, const AccountColumns *chosen,
                      json_object *reply, uint64_t max_rows, FILE *out, AccountTable **ret) {
        _cleanup_(account_table_freep) AccountTable *table = malloc(sizeof(*table));
        const ReportSetting *setting = &report_settings[kind];
        size_t n_timed = setting->has_begin ? setting->n_columns : 0;
        /* A bar is for eyes; one cannot show two sides, and in whole lives all sleep. */
        size_t n_all =
                session->terminal.out && n_timed == 1 ? _ACCOUNT_COLUMN_MAX : ACCOUNT_COLUMN_BAR;
        bool all = chosen->n == 0 || chosen->is_added;
        json_object *host = cell_member(reply, "host");
        size_t group;
        int r;

        if (!table)
                return -ENOMEM;
        if (n_timed == 2)
                host = cell_member(host, setting->sides[1]);
        *table = (AccountTable){
                .session = session,
                .style = { .setting = setting,
                           .raw = options_have(session->options, OPTION_RAW),
                           .utf8 = session->terminal.utf8,
                           .cpus = json_object_get_double(cell_member(host, "cpus")) },
                .changes = cell_member(reply, "changes"),
                .out = out,
                .max_rows = max_rows,
                .has_idle = session->options->view.n_filter > 0 ||
                            options_have(session->options, OPTION_ALL_ROWS),
        };
        for (size_t i = 0; i < n_timed; i++) {
                json_object *column = n_timed == 1 ? reply : cell_member(reply, setting->sides[i]);

                table->style.elapsed_ns[i] =
                        setting->of_medians ? NSEC_PER_SEC : cell_u64(column, "elapsedNs");
        }
        table->n_columns = all ? n_all : chosen->n;
        for (size_t id = 0; id < _ACCOUNT_COLUMN_MAX; id++)
                table->places[id] = table->n_columns;
        for (size_t i = 0; i < table->n_columns; i++) {
                table->ids[i] = all ? (AccountColumn) i : chosen->ids[i];
                table->columns[i] = account_column(table->ids[i], setting);
                table->places[table->ids[i]] = i;
        }
        for (size_t i = 0; i < chosen->n; i++) {
                TableColumn *column = &table->columns[table->places[chosen->ids[i]]];

                table->style.all_rss = table->style.all_rss || chosen->ids[i] == ACCOUNT_COLUMN_RSS;
                column->only_told = false;
                column->omit = 0;
                column->extra = column->idle_first = column->absent = false;
        }
        group = table->places[ACCOUNT_COLUMN_GROUP];
        table->columns[group].shrink_to =
                setting->n_columns == 1 ? NAME_COLUMNS : NAME_COLUMNS_OF_TWO;
        table->columns[group].keep_end = session->options->view.axis == VIEW_AXIS_CGROUP ||
                                         session->options->view.axis == VIEW_AXIS_ALL;
        r = table_new(table->columns, table->n_columns, &session->terminal, session->legend, out,
                      &table->table);
        if (r < 0)
                return r;
        if (options_have(session->options, OPTION_WRAP))
                table_set_wrap(table->table);
        *ret = TAKE_PTR(table);
        return 0;
}

AccountTable *account_table_free(AccountTable *table) {
        if (!table)
                return NULL;
        table->table = table_free(table->table);
        free(table);
        return NULL;
}

void account_table_add(AccountTable *table, json_object *row, bool is_command) {
        const Terminal *terminal = &table->session->terminal;
        json_object *accounts = cell_member(row, "accounts");
        size_t threads = table->places[ACCOUNT_COLUMN_THREADS];
        bool bold = cell_member(row, "only") && threads < table->n_columns;
        /* Figures leave so much for names on a terminal that is wider than the usual. */
        size_t label_columns = table->columns[table->places[ACCOUNT_COLUMN_GROUP]].shrink_to;

        unsigned ranks[_ACCOUNT_COLUMN_MAX];
        unsigned last = UINT_MAX; /* the place of the last column in which nothing moved */

        if (!is_command && !table->has_idle &&
            account_row_is_idle(row, table->changes, &table->style)) {
                table->n_idle++;
                return;
        }
        if (!is_command && table->n_rows++ >= table->max_rows)
                return;
        if (!terminal->out)
                label_columns = SIZE_MAX;
        else if (terminal->columns > FIGURE_COLUMNS + label_columns)
                label_columns = terminal->columns - FIGURE_COLUMNS;
        /* An empty line stands above the first row. */
        if (!table->begun)
                (void) fputc('\n', table->out);
        table->begun = true;
        for (size_t i = 0; i < table->n_columns; i++) {
                Buffer *cell = table_cell(table->table);
                size_t n_before = cell->n, n;
                bool moves;

                if (table->ids[i] != ACCOUNT_COLUMN_GROUP)
                        account_cell_append(cell, table->ids[i], row, &table->style, &table->signs);
                else if (is_command)
                        cell_append_text(cell, cell_member(row, "key"));
                else
                        group_label_append_commands(cell, row, label_columns);
                /* A cell says that something is, or that two columns differ in it. */
                n = cell->n - n_before;
                if (table->style.setting->n_columns == 1)
                        moves = n > 1 || (n == 1 && !memchr("0-", cell->bytes[n_before], 2));
                else
                        moves = memmem(cell->bytes + n_before, n, "\u2192", strlen("\u2192"));
                table->moved[i] = table->moved[i] || moves;
                if (account_row_tells(row, table->ids[i], &table->style))
                        table->columns[i].absent = false;
                if (account_row_weighs(row, table->ids[i], &table->style))
                        table->heavy[table->ids[i]] = true;
        }
        for (size_t i = 0; i < cell_length(accounts); i++) {
                json_object *account = cell_element(accounts, i);
                double read = json_object_get_double(cell_member(account, "readBytes"));
                double written = json_object_get_double(cell_member(account, "writeBytes"));

                table->most_read = MAX_OF(table->most_read, read);
                table->most_written = MAX_OF(table->most_written, written);
        }
        /*
         * A column that has half of the weight of a group makes room after all columns in which
         * nothing moved; every other column keeps its place in the order in which columns make
         * room. The table reads this order when it prints. Between the columns of bytes read and
         * bytes written, the one with fewer bytes makes room first.
         */
        for (size_t i = 0; i < table->n_columns; i++) {
                bool swaps = table->most_written > table->most_read;
                AccountColumn id = table->ids[i];

                if (swaps && (id == ACCOUNT_COLUMN_READ || id == ACCOUNT_COLUMN_WRITE))
                        id = id == ACCOUNT_COLUMN_READ ? ACCOUNT_COLUMN_WRITE : ACCOUNT_COLUMN_READ;
                ranks[i] = account_column(id, table->style.setting).omit;
                if (table->columns[i].omit > 0 && !table->columns[i].absent &&
                    !table->columns[i].only_told && !table->moved[i])
                        last = MIN_OF(last, ranks[i]);
        }
        for (size_t i = 0; i < table->n_columns; i++)
                /* In halves, so that there is room between two places. A named column stays. */
                if (table->columns[i].omit > 0)
                        table->columns[i].omit = table->heavy[table->ids[i]] && ranks[i] > last
                                                         ? 2 * last - 1
                                                         : 2 * ranks[i];
        table_end_row(table->table, bold ? UINT32_C(1) << threads : 0);
}

static bool shows(const AccountTable *table, AccountColumn id) {
        size_t column = table->places[id];

        return column < table->n_columns && !table_omits(table->table, column);
}

int account_table_print_signs(const AccountTable *table, const Lines *lines) {
        const AccountSigns *signs = &table->signs;
        bool storage = signs->storage && shows(table, ACCOUNT_COLUMN_STORAGE);
        bool writes = signs->writes && shows(table, ACCOUNT_COLUMN_WRITE);
        const struct {
                bool is_there;
                const char *text;
        } reasons[] = {
                { storage, "IO by delay accounting since Linux 6.12" },
                { writes, "WRITE above the disks" },
                { signs->moved, "CPU without threads that ended as others" },
                { signs->cut, "cut to what all that ended did, as some had other names before" },
        };
        _cleanup_(buffer_done) Buffer bar = {}, line = {};
        int r = 0;

        if (signs->bar && shows(table, ACCOUNT_COLUMN_BAR)) {
                account_bar_legend(&bar, &table->style, signs);
                r = lines_print_buffer(lines, "", &bar);
        }
        for (size_t i = 0; i < ELEMENTSOF(reasons); i++)
                if (reasons[i].is_there)
                        buffer_append_format(&line, "%s%s", line.n > 0 ? ", " : "~ approximate: ",
                                             reasons[i].text);
        return r == 0 && line.n > 0 ? lines_print_buffer(lines, "", &line) : r;
}
