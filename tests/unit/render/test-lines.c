/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/lines.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check-main.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "render/progress.h"

static const Terminal a_pipe = {};
static const Terminal narrow = { .out = true, .columns = 30 };

static const struct {
        const Terminal *terminal;
        size_t label_columns;
        const char *label, *text;
        const char *printed;
} rows[] = {
        { &a_pipe, 8, "before", "one two", "before    one two\n" },
        { &a_pipe, 8, "", "one two", "          one two\n" },
        { &a_pipe, 8, "before", "", "before\n" },
        { &a_pipe, 8, "before", "  ", "before\n" },
        { &a_pipe, 4, "a", "ends in blanks  ", "a     ends in blanks\n" },
        { &narrow, 4, "a", "ends in blanks at the edge  ",
          "a     ends in blanks at the\n      edge\n" },
        { &narrow, 4, "a", "exactly-twenty-four-char  ", "a     exactly-twenty-four-char\n" },
        { &a_pipe, 3, "longer", "text", "longer text\n" },
        { &narrow, 3, "longer", "text", "longer\n     text\n" },
        { &narrow, 3, "long", "text", "long text\n" },
        { &narrow, 0, "long", "text", "long text\n" },
        { &a_pipe, 0, "", "text", "text\n" },
        { &a_pipe, 4, "a", "a text that is longer than any line of the terminal would be",
          "a     a text that is longer than any line of the terminal would be\n" },
        { &narrow, 4, "a", "a text that is longer than the line",
          "a     a text that is longer\n"
          "      than the line\n" },
        { &narrow, 4, "a", "exactly-twenty-four-char", "a     exactly-twenty-four-char\n" },
        { &narrow, 4, "a", "a-word-of-more-than-one-whole-line",
          "a     a-word-of-more-than-one-\n"
          "      whole-line\n" },
        { &narrow, 4, "a", "pressure of the cpu 11 %, then",
          "a     pressure of the cpu\n"
          "      11 %, then\n" },
        { &narrow, 4, "a", "ctprof saw 31 % of 2.00 CPUs, 3.1K threads",
          "a     ctprof saw 31 % of\n"
          "      2.00 CPUs, 3.1K threads\n" },
        { &narrow, 4, "a", "all of two words, ~12 IO/s",
          "a     all of two words,\n"
          "      ~12 IO/s\n" },
        { &narrow, 4, "a", "this one is of (12 threads)",
          "a     this one is of\n"
          "      (12 threads)\n" },
        { &narrow, 4, "a", "pressure, then 12 \u2192 6 new, end",
          "a     pressure, then\n"
          "      12 \u2192 6 new, end\n" },
        /* what is behind a comma, or no number, is another thing */
        { &narrow, 4, "a", "all cpus are: 0, 1, 2, 3, 4",
          "a     all cpus are: 0, 1, 2,\n"
          "      3, 4\n" },
        { &narrow, 4, "a", "the 6.1.0-amd64 kernel, x86",
          "a     the 6.1.0-amd64 kernel,\n"
          "      x86\n" },
        { &narrow, 4, "a", "named ending in 10.2s from",
          "a     named ending in 10.2s\n"
          "      from\n" },
        /* numbers alone are broken where they fit */
        { &narrow, 4, "a", "10 20 30 40 50 60 70 80 90 99",
          "a     10 20 30 40 50 60 70 80\n"
          "      90 99\n" },
        { &narrow, 20, "a", "no room to wrap is no reason to cut",
          "a                     no room to wrap is no reason to cut\n" },
        { &narrow, 0, "",
          "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5 twenty columns, then ten",
          "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5 twenty columns,\nthen "
          "ten\n" },
};

START_TEST(lines_fit_a_terminal_and_stay_whole_in_a_pipe) {
        char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);
        const Lines lines = { .out = out,
                              .terminal = rows[_i].terminal,
                              .label_columns = rows[_i].label_columns };

        lines_print(&lines, rows[_i].label, rows[_i].text);
        ck_assert_int_eq(fclose(out), 0);
        ck_assert_str_eq(text, rows[_i].printed);
        free(text);
}
END_TEST

static const struct {
        size_t max_lines;
        bool is_cut;
        const char *text, *printed;
} cut_rows[] = {
        { 0, false, "as many lines as it takes, because nobody asked for fewer of them",
          "a     as many lines as it\n"
          "      takes, because nobody\n"
          "      asked for fewer of them\n" },
        { 2, false, "two lines are what it takes and what there is",
          "a     two lines are what it\n"
          "      takes and what there is\n" },
        { 2, true, "two lines, and then one and two and three more words",
          "a     two lines, and then one\n"
          "      and two and three more…\n" },
        { 2, true, "two lines, and then one, two, three and many more words",
          "a     two lines, and then one,\n"
          "      two, …\n" },
        { 1, true, "one-word-that-is-longer-than-the-line", "a     one-word-that-is-longer…\n" },
};

START_TEST(a_text_of_too_many_lines_is_cut) {
        char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);
        const Lines lines = { .out = out,
                              .terminal = &narrow,
                              .label_columns = 4,
                              .max_lines = cut_rows[_i].max_lines };
        const Lines piped = { .out = out,
                              .terminal = &a_pipe,
                              .label_columns = 4,
                              .max_lines = cut_rows[_i].max_lines };

        ck_assert_int_eq(lines_cut(&lines, cut_rows[_i].text), cut_rows[_i].is_cut);
        ck_assert(!lines_cut(&piped, cut_rows[_i].text));
        lines_print(&lines, "a", cut_rows[_i].text);
        ck_assert_int_eq(fclose(out), 0);
        ck_assert_str_eq(text, cut_rows[_i].printed);
        free(text);
}
END_TEST

START_TEST(a_page_gets_whole_lines_as_json) {
        char *text = NULL;
        size_t n_text;
        FILE *file = open_memstream(&text, &n_text);
        JsonOut out;
        const Lines lines = {
                .terminal = &narrow, .label_columns = 4, .max_lines = 1, .json = &out
        };

        json_out_init(&out, file, JSON_STYLE_SHORT);
        json_out_array(&out);
        lines_print(&lines, "a", "a \"text\" of more than one line on a terminal that is narrow");
        lines_format(&lines, "", "%d", 7);
        json_out_end(&out);
        ck_assert_int_eq(json_out_finish(&out), 0);
        json_out_done(&out);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_str_eq(text,
                         "[[\"a\",\"a \\\"text\\\" of more than one line on a terminal that is "
                         "narrow\"],[\"\",\"7\"]]\n");
        free(text);
}
END_TEST

static const struct {
        const char *phase;
        uint64_t done;
        bool has_total;
        uint64_t total;
        size_t columns;
        const char *line;
        const char *more;
} progress_rows[] = {
        { "threads", 50, true, 100, 40, "Reading threads [#######........] 50/100", "" },
        { "threads", 0, true, 100, 200, "Reading threads [..............................] 0/100",
          "" },
        { "threads", 120, true, 100, 200,
          "Reading threads [##############################] 120/120", "" },
        { "writing", 7, false, 0, 80, "Writing 7", "" },
        { "writing", 7, true, 0, 80, "Writing 7", "" },
        { "cgroups", 1, true, 2, 20, "Reading cgroups [] 1/2", "" },
        { "\033[2J", 1, false, 0, 80, "Working 1", "" },
        { "recording", 2500000000, true, 10000000000, 40,
          "Recording [####..............] 2s of 10s", "" },
        { "recording", 61000000000, true, 3600000000000, 20, "Recording [] 1min 1s of 1h", "" },
        { "recording", 3000000000, false, 0, 80, "Recording 3s", "" },
        { "recording", UINT64_MAX, true, UINT64_MAX, 20, "Recording [] 213503d 23h of 213503d 23h",
          "" },
        { "recording", 2500000000, true, 10000000000, 60,
          "Recording [###...........] 2s of 10s, 208 threads, 7 samples",
          ", 208 threads, 7 samples" },
        { "recording", 3000000000, false, 0, 80, "Recording 3s, 7 samples", ", 7 samples" },
};

START_TEST(progress_is_one_line_without_surprises) {
        char line[PROGRESS_LINE_BYTES];

        progress_format(progress_rows[_i].phase, progress_rows[_i].done,
                        progress_rows[_i].has_total, progress_rows[_i].total,
                        progress_rows[_i].more, progress_rows[_i].columns, line);
        ck_assert_str_eq(line, progress_rows[_i].line);
}
END_TEST

START_TEST(progress_is_for_terminals) {
        json_object *object = json_tokener_parse("{\"phase\":\"threads\",\"done\":1}");
        Progress progress = { .enabled = true, .columns = 80 }, hidden = { .columns = 80 };

        progress_update(&progress, NULL, 0); /* not a progress: nothing is drawn */
        ck_assert(!progress.drawn);
        progress_clear(&progress);
        progress_update(&hidden, object, 5 * NSEC_PER_SEC);
        progress_update(&hidden, object, 6 * NSEC_PER_SEC);
        ck_assert(!hidden.drawn);
        json_object_put(object);
}
END_TEST

START_TEST(progress_neither_flickers_nor_hurries) {
        json_object *object = json_tokener_parse("{\"phase\":\"threads\",\"done\":1}");
        Progress progress = { .enabled = true, .columns = 80 };

        progress_update(&progress, object, 5 * NSEC_PER_SEC);
        progress_update(&progress, object, 5 * NSEC_PER_SEC + 199 * NSEC_PER_MSEC);
        ck_assert(!progress.drawn);
        progress_update(&progress, object, 5 * NSEC_PER_SEC + 200 * NSEC_PER_MSEC);
        ck_assert(progress.drawn);
        ck_assert_uint_eq(progress.drawn_mono_ns, 5 * NSEC_PER_SEC + 200 * NSEC_PER_MSEC);
        progress_update(&progress, object, 5 * NSEC_PER_SEC + 299 * NSEC_PER_MSEC);
        ck_assert_uint_eq(progress.drawn_mono_ns, 5 * NSEC_PER_SEC + 200 * NSEC_PER_MSEC);
        progress_update(&progress, object, 5 * NSEC_PER_SEC + 300 * NSEC_PER_MSEC);
        ck_assert_uint_eq(progress.drawn_mono_ns, 5 * NSEC_PER_SEC + 300 * NSEC_PER_MSEC);
        progress_clear(&progress);
        ck_assert(!progress.drawn);
        json_object_put(object);
}
END_TEST

static const struct {
        const char *counts, *line;
} drawn_rows[] = {
        { "\"threads\":208,\"samples\":7,\"lost\":0", "Recording 3s, 208 threads, 7 samples" },
        { "\"threads\":1,\"samples\":1,\"lost\":1", "Recording 3s, 1 thread, 1 sample, 1 lost" },
        { "\"threads\":0,\"samples\":0", "Recording 3s, 0 threads, 0 samples" },
};

START_TEST(progress_has_what_there_is_of_counts) {
        char text[128], drawn[PROGRESS_LINE_BYTES], wanted[PROGRESS_LINE_BYTES];
        Progress progress = { .enabled = true, .columns = 80 };
        int real = dup(STDERR_FILENO);
        FILE *file = tmpfile();
        json_object *object;
        size_t n;

        (void) snprintf(text, sizeof(text), "{\"phase\":\"recording\",\"done\":3000000000,%s}",
                        drawn_rows[_i].counts);
        (void) snprintf(wanted, sizeof(wanted), "\r\033[K%s", drawn_rows[_i].line);
        object = json_tokener_parse(text);
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
        progress_update(&progress, object, NSEC_PER_SEC);
        progress_update(&progress, object, 2 * NSEC_PER_SEC);
        (void) dup2(real, STDERR_FILENO);
        (void) close(real);
        rewind(file);
        n = fread(drawn, 1, sizeof(drawn) - 1, file);
        drawn[n] = '\0';
        ck_assert_str_eq(drawn, wanted);
        (void) fclose(file);
        json_object_put(object);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("lines");
        TCase *lines = tcase_create("lines");
        TCase *progress = tcase_create("progress");

        (void) setlocale(LC_CTYPE, "C.UTF-8");
        tcase_add_loop_test(lines, lines_fit_a_terminal_and_stay_whole_in_a_pipe, 0,
                            ELEMENTSOF(rows));
        tcase_add_loop_test(lines, a_text_of_too_many_lines_is_cut, 0, ELEMENTSOF(cut_rows));
        tcase_add_test(lines, a_page_gets_whole_lines_as_json);
        tcase_add_loop_test(progress, progress_is_one_line_without_surprises, 0,
                            ELEMENTSOF(progress_rows));
        tcase_add_loop_test(progress, progress_has_what_there_is_of_counts, 0,
                            ELEMENTSOF(drawn_rows));
        tcase_add_test(progress, progress_is_for_terminals);
        tcase_add_test(progress, progress_neither_flickers_nor_hurries);
        suite_add_tcase(suite, lines);
        suite_add_tcase(suite, progress);
        return check_main(suite);
}
