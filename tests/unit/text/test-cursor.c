/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdint.h>

#include "base/macro.h"
#include "kernel/text/cursor.h"

static const struct {
        const char *text;
        const char *words; /* joined by '|' */
} word_rows[] = {
        { "", "" },       { "   \t ", "" }, { "1 2 3", "1|2|3" }, { "  1\t\t2  ", "1|2" },
        { "one", "one" },
};

START_TEST(words_are_what_blanks_leave) {
        Cursor cursor = span_of(word_rows[_i].text);
        char joined[64] = "";
        Span word;

        while (cursor_word(&cursor, &word)) {
                if (joined[0] != '\0')
                        strcat(joined, "|");
                strncat(joined, word.bytes, word.n);
        }
        ck_assert_str_eq(joined, word_rows[_i].words);
        ck_assert(cursor.n == 0);
        ck_assert(!cursor_word(&cursor, &word));
}
END_TEST

START_TEST(a_line_without_a_newline_was_cut) {
        Cursor cursor = span_of("one\n\ntwo\nthr");
        Span line;

        ck_assert(cursor_line(&cursor, &line) && span_is(line, "one"));
        ck_assert(cursor_line(&cursor, &line) && span_is(line, ""));
        ck_assert(cursor_line(&cursor, &line) && span_is(line, "two"));
        ck_assert(!cursor_line(&cursor, &line));
        ck_assert(cursor.n > 0);
        ck_assert(span_is(cursor, "thr"));
}
END_TEST

START_TEST(an_empty_text_has_no_lines) {
        Cursor cursor = (Span){};
        Span line, value;

        ck_assert(!cursor_line(&cursor, &line));
        ck_assert(!cursor_word(&cursor, &line));
        ck_assert(!cursor_colon_pair(&cursor, &line, &value));
        ck_assert(!cursor_flat_pair(&cursor, &line, &value));
        ck_assert(!cursor_assignment(&cursor, &line, &value));
        ck_assert(cursor.n == 0);
}
END_TEST

START_TEST(colon_pairs_split_at_the_first_colon) {
        Cursor cursor = span_of(
                "  key\t:  a:b  \nno colon here\n:value\nempty:\n\nkey with blanks : 1\ncut: 1");
        Span key, value;

        ck_assert(cursor_colon_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "key") && span_is(value, "a:b"));
        ck_assert(cursor_colon_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "") && span_is(value, "value"));
        ck_assert(cursor_colon_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "empty") && span_is(value, ""));
        ck_assert(cursor_colon_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "key with blanks") && span_is(value, "1"));
        ck_assert(!cursor_colon_pair(&cursor, &key, &value));
        ck_assert(span_is(cursor, "cut: 1"));
}
END_TEST

START_TEST(flat_pairs_split_behind_the_first_word) {
        Cursor cursor = span_of("anon 282624\n\n  \nlonely\n  file\t12 34 \ncut 1");
        Span key, value;

        ck_assert(cursor_flat_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "anon") && span_is(value, "282624"));
        ck_assert(cursor_flat_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "lonely") && span_is(value, ""));
        ck_assert(cursor_flat_pair(&cursor, &key, &value));
        ck_assert(span_is(key, "file") && span_is(value, "12 34"));
        ck_assert(!cursor_flat_pair(&cursor, &key, &value));
        ck_assert(span_is(cursor, "cut 1"));
}
END_TEST

START_TEST(assignments_split_at_the_first_equals_sign) {
        Cursor cursor = span_of("some avg10=1.00 a=b=c =x y= word");
        Span key, value;

        ck_assert(cursor_assignment(&cursor, &key, &value));
        ck_assert(span_is(key, "avg10") && span_is(value, "1.00"));
        ck_assert(cursor_assignment(&cursor, &key, &value));
        ck_assert(span_is(key, "a") && span_is(value, "b=c"));
        ck_assert(cursor_assignment(&cursor, &key, &value));
        ck_assert(span_is(key, "") && span_is(value, "x"));
        ck_assert(cursor_assignment(&cursor, &key, &value));
        ck_assert(span_is(key, "y") && span_is(value, ""));
        ck_assert(!cursor_assignment(&cursor, &key, &value));
}
END_TEST

START_TEST(trimming_takes_blanks_and_newlines) {
        ck_assert(span_is(text_trim(span_of(" \n a b\t\n\n")), "a b"));
        ck_assert_uint_eq(text_trim(span_of(" \n\t")).n, 0);
        ck_assert_uint_eq(text_trim((Span){}).n, 0);
}
END_TEST

static const struct {
        const char *text;
        unsigned decimals;
        bool good;
        uint64_t value;
} decimal_rows[] = {
        { "0.000000", 6, true, 0 },
        { "12.345678", 6, true, 12345678 },
        { "4033.595042", 6, true, 4033595042 },
        { "0.25", 6, true, 250000 },
        { "0.250", 6, true, 250000 },
        { "0.2", 6, true, 200000 },
        { "0.9999999", 6, true, 999999 },
        { "7", 6, true, 7000000 },
        { "18.59", 2, true, 1859 },
        { "1.5", 2, true, 150 },
        { "1.501", 2, true, 150 },
        { "42", 2, true, 4200 },
        { "100.99", 2, true, 10099 },
        { "18446744073709.551615", 6, true, UINT64_MAX },
        { "18446744073709.551616", 6, false, 0 },
        { "18446744073709551615", 0, true, UINT64_MAX },
        { "18446744073709551616", 0, false, 0 },
        { "18446744073709551615", 1, false, 0 },
        { "1844674407370955161", 1, true, UINT64_C(18446744073709551610) },
        { "1.99999999999999999999999999", 2, true, 199 },
        { "3.", 2, false, 0 },
        { ".5", 2, false, 0 },
        { ".", 2, false, 0 },
        { "", 2, false, 0 },
        { "1.2.3", 2, false, 0 },
        { "-1.00", 2, false, 0 },
        { "1.-5", 2, false, 0 },
        { "nan", 2, false, 0 },
        { "1.0 ", 2, false, 0 },
        { "1,0", 2, false, 0 },
};

START_TEST(decimals_are_exact_or_refused) {
        uint64_t value = 4711;

        ck_assert_int_eq(text_parse_decimal(span_of(decimal_rows[_i].text),
                                            decimal_rows[_i].decimals, &value),
                         decimal_rows[_i].good);
        ck_assert_uint_eq(value, decimal_rows[_i].good ? decimal_rows[_i].value : 4711);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cursor");
        TCase *grammar = tcase_create("grammar");
        TCase *value = tcase_create("value");

        tcase_add_loop_test(grammar, words_are_what_blanks_leave, 0, ELEMENTSOF(word_rows));
        tcase_add_test(grammar, a_line_without_a_newline_was_cut);
        tcase_add_test(grammar, an_empty_text_has_no_lines);
        tcase_add_test(grammar, colon_pairs_split_at_the_first_colon);
        tcase_add_test(grammar, flat_pairs_split_behind_the_first_word);
        tcase_add_test(grammar, assignments_split_at_the_first_equals_sign);
        tcase_add_test(value, trimming_takes_blanks_and_newlines);
        tcase_add_loop_test(value, decimals_are_exact_or_refused, 0, ELEMENTSOF(decimal_rows));
        suite_add_tcase(suite, grammar);
        suite_add_tcase(suite, value);
        return check_main(suite);
}
