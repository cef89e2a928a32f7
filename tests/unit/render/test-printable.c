/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/printable.h"

#include <check.h>
#include <locale.h>

#include "base/name.h"
#include "check-main.h"

static const struct {
        const char *bytes;
        size_t n; /* 0: to the NUL */
        const char *text;
} rows[] = {
        { "", 0, "" },
        { "kworker/0:1-events", 0, "kworker/0:1-events" },
        { "with space (b) 100%", 0, "with space (b) 100%" },
        { "new\nline\ttab", 0, "new\\x0aline\\x09tab" },
        { "\033[31mred", 0, "\\x1b[31mred" },
        { "\x7f", 0, "\\x7f" },
        { "a\0b", 3, "a\\x00b" },
        { "bad\xff\xfeutf8", 0, "bad\\xff\\xfeutf8" },
        { "cut\xe2\x82", 0, "cut\\xe2\\x82" },
        { "\xc0\x80", 0, "\\xc0\\x80" },          /* overlong NUL */
        { "\xed\xa0\x80", 0, "\\xed\\xa0\\x80" }, /* a surrogate */
        { "\xc2\x9b"
          "31m",
          0,
          "\\xc2\\x9b"
          "31m" }, /* C1 control sequence introducer */
        { "\u00b5s \u2192 \u65e5\u672c", 0, "\u00b5s \u2192 \u65e5\u672c" },
        { "a\u202eb", 0, "a\\xe2\\x80\\xaeb" }, /* right-to-left override */
        { "a\u200bb", 0, "a\\xe2\\x80\\x8bb" }, /* zero width space */
        { "\u2028", 0, "\\xe2\\x80\\xa8" },
        { "\ufeff", 0, "\\xef\\xbb\\xbf" },
        { "\U000e0041", 0, "\\xf3\\xa0\\x81\\x81" }, /* a tag character */
        { "\U0001f600", 0, "\U0001f600" },
};

START_TEST(names_lose_what_a_terminal_would_obey) {
        _cleanup_(buffer_done) Buffer buffer = {};
        Span bytes = { rows[_i].bytes, rows[_i].n > 0 ? rows[_i].n : strlen(rows[_i].bytes) };
        const char *text;

        ck_assert_int_eq(printable_append(&buffer, bytes), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        ck_assert_str_eq(text, rows[_i].text);
}
END_TEST

START_TEST(names_from_json_are_unescaped_first) {
        _cleanup_(buffer_done) Buffer json = {}, direct = {}, buffer = {};
        Span bytes = span_of(rows[_i].bytes);

        ck_assert_int_eq(name_escape(&json, bytes), 0);
        ck_assert_int_eq(printable_append(&direct, bytes), 0);
        ck_assert_int_eq(printable_append_name(&buffer, buffer_span(&json)), 0);
        ck_assert(span_equal(buffer_span(&buffer), buffer_span(&direct)));
}
END_TEST

START_TEST(every_byte_alone_becomes_printable) {
        for (unsigned i = 1; i < 256; i++) {
                _cleanup_(buffer_done) Buffer buffer = {};
                const char byte = (char) i;

                ck_assert_int_eq(printable_append(&buffer, (Span){ &byte, 1 }), 0);
                for (size_t j = 0; j < buffer.n; j++)
                        ck_assert(buffer.bytes[j] >= ' ' && buffer.bytes[j] <= '~');
        }
}
END_TEST

static const struct {
        const char *text;
        size_t width;
        size_t n_columns, fits; /* bytes */
} width_rows[] = {
        { "", 0, 5, 0 },
        { "abc", 3, 2, 2 },
        { "abc", 3, 3, 3 },
        { "abc", 3, 0, 0 },
        { "1.5\u00b5s", 5, 4, 5 },
        { "\u65e5\u672c", 4, 3, 3 }, /* two columns each: half of one does not fit */
        { "e\u0301x", 2, 1, 3 },     /* a combining accent takes none */
};

START_TEST(widths_are_those_of_the_terminal) {
        ck_assert_uint_eq(printable_width(span_of(width_rows[_i].text)), width_rows[_i].width);
        ck_assert_uint_eq(
                printable_fit(span_of(width_rows[_i].text), width_rows[_i].n_columns, NULL),
                width_rows[_i].fits);
}
END_TEST

START_TEST(a_text_is_cut_at_its_bytes_too) {
        Span accents = SPAN_LITERAL("e\u0301\u0301\u0301");

        ck_assert_uint_eq(printable_cut(accents, 1, 7), 7);
        ck_assert_uint_eq(printable_cut(accents, 1, 6), 5);
        ck_assert_uint_eq(printable_cut(accents, 1, 0), 0);
        ck_assert_uint_eq(printable_cut(SPAN_LITERAL("abc"), 2, 3), 2);
}
END_TEST

static const struct {
        const char *text;
        size_t n_columns;
        const char *end;
} end_rows[] = {
        { "/a/b", 4, "/a/b" },
        { "/system.slice/ssh.service", 16, "\u2026/ssh.service" },
        { "/ssh.service", 6, "\u2026rvice" },
        { "\u65e5\u672c", 3, "\u2026\u672c" },
        { "abc", 1, "\u2026" },
        { "abc", SIZE_MAX, "abc" },
};

START_TEST(the_end_of_a_path_says_more) {
        _cleanup_(buffer_done) Buffer buffer = {};

        ck_assert_int_eq(
                printable_append_end(&buffer, span_of(end_rows[_i].text), end_rows[_i].n_columns),
                0);
        ck_assert_msg(span_is(buffer_span(&buffer), end_rows[_i].end), "%.*s", (int) buffer.n,
                      buffer.bytes);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("printable");
        TCase *append = tcase_create("append");
        TCase *width = tcase_create("width");

        (void) setlocale(LC_CTYPE, "C.UTF-8");
        tcase_add_loop_test(append, names_lose_what_a_terminal_would_obey, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(append, names_from_json_are_unescaped_first, 0, ELEMENTSOF(rows));
        tcase_add_test(append, every_byte_alone_becomes_printable);
        tcase_add_loop_test(width, widths_are_those_of_the_terminal, 0, ELEMENTSOF(width_rows));
        tcase_add_test(width, a_text_is_cut_at_its_bytes_too);
        tcase_add_loop_test(width, the_end_of_a_path_says_more, 0, ELEMENTSOF(end_rows));
        suite_add_tcase(suite, append);
        suite_add_tcase(suite, width);
        return check_main(suite);
}
