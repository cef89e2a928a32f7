/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/table.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"
#include "render/printable.h"

static const Terminal a_pipe = {};
static const Terminal narrow = { .out = true, .columns = 40 };
static const Terminal colourful = { .out = true, .columns = 40, .colour = true };

static const TableColumn columns[] = {
        { .header = "group", .shrink_to = 10 }, { .header = "metric" },
        { .header = "delta", .right = true },   { .header = "rate", .right = true, .omit = 1 },
        { .header = "tags", .omit = 2 },
};

#define N ELEMENTSOF(columns)

/* What was printed, owned by the caller. */
static char *print(const Terminal *terminal, TableLegend legend, const char *const rows[][N],
                   size_t n_rows, Buffer *omitted) {
        _cleanup_(table_freep) Table *table = NULL;
        char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);

        ck_assert_ptr_nonnull(out);
        ck_assert_int_eq(table_new(columns, N, terminal, legend, out, &table), 0);
        for (size_t i = 0; i < n_rows; i++)
                ck_assert_int_eq(table_add(table, rows[i], 1u << 2), 0);
        ck_assert_int_eq(table_is_empty(table), n_rows == 0);
        ck_assert_int_eq(table_end(table), 0);
        if (omitted)
                table_omitted(table, omitted);
        ck_assert_int_eq(fclose(out), 0);
        return text;
}

static const char *const two_rows[][N] = {
        { "nginx", "run_time_ns", "+1.5\u00b5s", "+2ns/s", "x" },
        { "a-name-that-is-rather-long", "minflt", "-", "", "" },
};

START_TEST(a_pipe_gets_every_cell_whole) {
        _cleanup_(freep) char *text = print(&a_pipe, TABLE_LEGEND_SHOWN, two_rows, 2, NULL);

        ck_assert_str_eq(text, "group                      metric       delta   rate tags\n"
                               "nginx                      run_time_ns +1.5\u00b5s +2ns/s x\n"
                               "a-name-that-is-rather-long minflt           -      - -\n");
}
END_TEST

START_TEST(a_terminal_clips_the_label_before_columns_go) {
        static const char *const row[][N] = { { "a-name-of-nineteen-", "m", "+1", "+2", "t" } };
        _cleanup_(freep) char *text = print(&narrow, TABLE_LEGEND_SHOWN, row, 1, NULL);

        ck_assert_str_eq(text, "group             metric delta rate tags\n"
                               "a-name-of-ninete\u2026 m         +1   +2 t\n");
}
END_TEST

START_TEST(the_least_important_column_goes_first) {
        _cleanup_(buffer_done) Buffer omitted = {};
        _cleanup_(freep) char *text = print(&narrow, TABLE_LEGEND_SHOWN, two_rows, 2, &omitted);

        ck_assert_str_eq(text, "group          metric       delta   rate\n"
                               "nginx          run_time_ns +1.5\u00b5s +2ns/s\n"
                               "a-name-that-i\u2026 minflt           -      -\n");
        ck_assert(span_is(buffer_span(&omitted), "tags"));
}
END_TEST

/* One that says so shrinks to what it can before it goes; one that is absent is nowhere. */
START_TEST(a_column_gives_before_it_goes) {
        static const TableColumn giving[] = {
                { .header = "group" },
                { .header = "no", .absent = true },
                { .header = "waits for", .omit = 1, .give_to = 12 },
        };
        static const struct {
                unsigned short columns;
                const char *text;
        } rows[] = {
                { 0, "group waits for\nnginx sleep 0.10, poll 3.0\n" },
                { 26, "group waits for\nnginx sleep 0.10, poll 3.0\n" },
                { 19, "group waits for\nnginx sleep 0.10, \u2026\n" },
                { 18, "group waits for\nnginx sleep 0.10,\u2026\n" },
                { 17, "group\nnginx\n" },
        };
        static const char *const cells[] = { "nginx", "x", "sleep 0.10, poll 3.0" };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Terminal terminal = { .out = rows[i].columns > 0,
                                            .columns = rows[i].columns };
                _cleanup_(table_freep) Table *table = NULL;
                _cleanup_(buffer_done) Buffer omitted = {};
                _cleanup_(freep) char *text = NULL;
                size_t n_text;
                FILE *out = open_memstream(&text, &n_text);

                ck_assert_int_eq(table_new(giving, 3, &terminal, TABLE_LEGEND_SHOWN, out, &table),
                                 0);
                ck_assert_int_eq(table_add(table, cells, 0), 0);
                ck_assert_int_eq(table_end(table), 0);
                table_omitted(table, &omitted);
                ck_assert_int_eq(fclose(out), 0);
                ck_assert_str_eq(text, rows[i].text);
                ck_assert_int_eq(omitted.n > 0, rows[i].columns == 17);
        }
}
END_TEST

static const struct {
        const char *cell, *line;
} end_rows[] = {
        { "0123456789", "0123456789\n" },
        { "/system.slice/nginx.service", "\u2026x.service\n" },
        { "abcdefghijk\u00e9", "\u2026defghijk\u00e9\n" },
        { "0123456\u6f22\u5b57", "\u202623456\u6f22\u5b57\n" },
        { "\u6f22\u6f22\u6f22\u6f22\u6f22x", "\u2026\u6f22\u6f22\u6f22\u6f22x\n" },
        { "\u6f22\u6f22\u6f22\u6f22\u6f22\u6f22", "\u2026\u6f22\u6f22\u6f22\u6f22\n" },
};

START_TEST(of_paths_the_end_is_kept) {
        static const TableColumn path = { .header = "path", .shrink_to = 10, .keep_end = true };
        static const Terminal tiny = { .out = true, .columns = 10 };
        _cleanup_(table_freep) Table *table = NULL;
        _cleanup_(freep) char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);

        ck_assert_int_eq(table_new(&path, 1, &tiny, TABLE_LEGEND_HIDDEN, out, &table), 0);
        ck_assert_int_eq(table_add(table, &end_rows[_i].cell, 0), 0);
        ck_assert_int_eq(table_end(table), 0);
        ck_assert_int_eq(fclose(out), 0);
        ck_assert_str_eq(text, end_rows[_i].line);
}
END_TEST

/* Headings in front of, between and behind rows. */
static char *print_headings(const Terminal *terminal, bool wrap) {
        static const char *const rows[][N] = { { "a", "m", "+1", "+2", "t" },
                                               { "b", "m", "+1", "+2", "t" } };
        _cleanup_(table_freep) Table *table = NULL;
        char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);

        ck_assert_int_eq(table_new(columns, N, terminal, TABLE_LEGEND_SHOWN, out, &table), 0);
        if (wrap)
                table_set_wrap(table);
        ck_assert_int_eq(table_add_heading(table, "/a-path/that-is-longer/than-the-terminal.is"),
                         0);
        for (size_t i = 0; i < 2; i++) {
                ck_assert_int_eq(table_add(table, rows[i], 0), 0);
                ck_assert_int_eq(table_add_heading(table, "/a-path/of-31-columns/that-fits"), 0);
        }
        ck_assert_int_eq(table_end(table), 0);
        ck_assert_int_eq(fclose(out), 0);
        return text;
}

START_TEST(a_heading_has_the_line_for_itself) {
        _cleanup_(freep) char *pipe = print_headings(&a_pipe, false);
        _cleanup_(freep) char *clipped = print_headings(&narrow, false);
        _cleanup_(freep) char *wrapped = print_headings(&narrow, true);

        ck_assert_str_eq(pipe, "group metric delta rate tags\n"
                               "/a-path/that-is-longer/than-the-terminal.is\n"
                               "a     m         +1   +2 t\n"
                               "/a-path/of-31-columns/that-fits\n"
                               "b     m         +1   +2 t\n"
                               "/a-path/of-31-columns/that-fits\n");
        ck_assert_str_eq(clipped, "group metric delta rate tags\n"
                                  "\u2026ath/that-is-longer/than-the-terminal.is\n"
                                  "a     m         +1   +2 t\n"
                                  "/a-path/of-31-columns/that-fits\n"
                                  "b     m         +1   +2 t\n"
                                  "/a-path/of-31-columns/that-fits\n");
        ck_assert_ptr_null(strstr(wrapped, "\u2026"));
        ck_assert_ptr_nonnull(strstr(wrapped, "terminal.is"));
}
END_TEST

START_TEST(no_legend_means_no_headers) {
        _cleanup_(freep) char *text = print(&a_pipe, TABLE_LEGEND_HIDDEN, two_rows, 1, NULL);
        _cleanup_(freep) char *none = print(&a_pipe, TABLE_LEGEND_HIDDEN, NULL, 0, NULL);

        ck_assert_str_eq(text, "nginx run_time_ns +1.5\u00b5s +2ns/s x\n");
        ck_assert(!none || none[0] == '\0');
}
END_TEST

START_TEST(a_table_without_rows_is_its_headers) {
        _cleanup_(freep) char *text = print(&a_pipe, TABLE_LEGEND_SHOWN, NULL, 0, NULL);

        ck_assert_str_eq(text, "group metric delta rate tags\n");
}
END_TEST

START_TEST(colour_is_for_terminals_that_want_it) {
        _cleanup_(freep) char *plain = print(&narrow, TABLE_LEGEND_SHOWN, two_rows, 2, NULL);
        _cleanup_(freep) char *bold = print(&colourful, TABLE_LEGEND_SHOWN, two_rows, 2, NULL);

        ck_assert_ptr_null(strchr(plain, '\033'));
        ck_assert_ptr_nonnull(strstr(bold, "\033[1m+1.5\u00b5s"));
}
END_TEST

/* Rows of two_rows under wrapping; owned. */
static char *print_wrapped(const Terminal *terminal) {
        Table *table = NULL;
        char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);

        ck_assert_int_eq(table_new(columns, N, terminal, TABLE_LEGEND_SHOWN, out, &table), 0);
        table_set_wrap(table);
        for (size_t i = 0; i < 2; i++)
                ck_assert_int_eq(table_add(table, two_rows[i], 0), 0);
        ck_assert_int_eq(table_end(table), 0);
        table = table_free(table);
        ck_assert_int_eq(fclose(out), 0);
        return text;
}

START_TEST(wrapping_loses_nothing) {
        _cleanup_(freep) char *wrapped = print_wrapped(&narrow);
        _cleanup_(freep) char *piped = print_wrapped(&a_pipe);
        _cleanup_(freep) char *plain = print(&a_pipe, TABLE_LEGEND_SHOWN, two_rows, 2, NULL);

        ck_assert_str_eq(wrapped, "group          metric       delta   rate\n"
                                  "nginx          run_time_ns +1.5\u00b5s +2ns/s\n"
                                  "a-name-that-   minflt           -      -\n"
                                  "is-rather-long\n");
        ck_assert_str_eq(piped, plain);
}
END_TEST

START_TEST(many_rows_come_in_one_shape) {
        static const char *const row[] = { "g", "metric", "+1", "+2", "t" };
        static const char *const wide[] = { "a-wider-one", "metric", "+1", "+2", "t" };
        _cleanup_(table_freep) Table *table = NULL;
        _cleanup_(freep) char *text = NULL;
        size_t n_text, n_lines = 0, n_headers = 0;
        FILE *out = open_memstream(&text, &n_text);
        char *rest;

        ck_assert_int_eq(table_new(columns, N, &a_pipe, TABLE_LEGEND_SHOWN, out, &table), 0);
        for (size_t i = 0; i < 10000; i++)
                ck_assert_int_eq(table_add(table, i == 5 ? wide : row, 0), 0);
        ck_assert_int_eq(table_end(table), 0);
        ck_assert_int_eq(fclose(out), 0);
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                n_lines++;
                n_headers += strncmp(line, "group", 5) == 0;
                ck_assert_ptr_eq(strstr(line, "metric"), line + strlen("a-wider-one "));
        }
        ck_assert_uint_eq(n_lines, 10001);
        ck_assert_uint_eq(n_headers, 1);
}
END_TEST

START_TEST(no_line_ends_in_a_blank_or_passes_the_edge) {
        const Terminal terminal = { .out = true, .columns = (size_t) _i };
        _cleanup_(freep) char *text = print(&terminal, TABLE_LEGEND_SHOWN, two_rows, 2, NULL);
        char *rest;

        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                ck_assert_int_ne(line[strlen(line) - 1], ' ');
                ck_assert_uint_le(printable_width(span_of(line)), MAX_OF((size_t) _i, (size_t) 30));
        }
}
END_TEST

static const TableColumn figures[] = {
        { .header = "group", .shrink_to = 6 },
        { .header = "read", .omit = 1, .idle_first = true },
        { .header = "write", .omit = 2, .idle_first = true },
        { .header = "peak", .idle_first = true, .extra = true },
};

/* What is omitted of one row, and what the table says of it. */
static const struct {
        size_t columns;
        const char *cells[ELEMENTSOF(figures)], *line, *omitted;
} roomy[] = {
        { 30, { "a-name-of-18-chars", "0", "9", "5" }, "a-name-of-18-chars 9     5\n", "" },
        { 24, { "a-name-of-18-chars", "0", "9", "5" }, "a-name-of-18-chars 9\n", "" },
        { 24, { "a-name-of-18-chars", "7", "-", "5" }, "a-name-of-18-chars 7\n", "" },
        { 20, { "a-name-of-18-chars", "7", "9", "5" }, "a-name-o\u2026 7    9\n", "" },
        { 15, { "a-name-of-18-chars", "7", "9", "5" }, "a-name-of\u2026 7\n", "write" },
};

START_TEST(columns_that_say_nothing_and_extra_ones_make_room) {
        const Terminal terminal = { .out = true, .columns = roomy[_i].columns };
        _cleanup_(table_freep) Table *table = NULL;
        _cleanup_(buffer_done) Buffer omitted = {};
        _cleanup_(freep) char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);

        ck_assert_int_eq(
                table_new(figures, ELEMENTSOF(figures), &terminal, TABLE_LEGEND_SHOWN, out, &table),
                0);
        ck_assert_int_eq(table_add(table, roomy[_i].cells, 0), 0);
        ck_assert_int_eq(table_end(table), 0);
        ck_assert_int_eq(fclose(out), 0);
        ck_assert_str_eq(strchr(text, '\n') + 1, roomy[_i].line);
        table_omitted(table, &omitted);
        ck_assert(span_is(buffer_span(&omitted), roomy[_i].omitted));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("table");
        TCase *layout = tcase_create("layout");
        TCase *block = tcase_create("block");

        (void) setlocale(LC_CTYPE, "C.UTF-8");
        tcase_add_test(layout, a_pipe_gets_every_cell_whole);
        tcase_add_test(layout, a_terminal_clips_the_label_before_columns_go);
        tcase_add_test(layout, the_least_important_column_goes_first);
        tcase_add_test(layout, a_column_gives_before_it_goes);
        tcase_add_loop_test(layout, of_paths_the_end_is_kept, 0, ELEMENTSOF(end_rows));
        tcase_add_test(layout, a_heading_has_the_line_for_itself);
        tcase_add_test(layout, no_legend_means_no_headers);
        tcase_add_test(layout, a_table_without_rows_is_its_headers);
        tcase_add_test(layout, colour_is_for_terminals_that_want_it);
        tcase_add_loop_test(layout, no_line_ends_in_a_blank_or_passes_the_edge, 20, 90);
        tcase_add_test(layout, wrapping_loses_nothing);
        tcase_add_test(block, many_rows_come_in_one_shape);
        tcase_add_loop_test(layout, columns_that_say_nothing_and_extra_ones_make_room, 0,
                            ELEMENTSOF(roomy));
        suite_add_tcase(suite, layout);
        suite_add_tcase(suite, block);
        return check_main(suite);
}
