/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "kernel/text/cpu-list.h"

static unsigned long mask[CPU_LIST_MAX_WORDS];

static const struct {
        const char *text;
        int r;
        size_t n;
        const char *canonical;
} list_rows[] = {
        { "0", 0, 1, "0" },
        { "0-3,7", 0, 5, "0-3,7" },
        { "5-5", 0, 1, "5" },
        { ",1,,3,", 0, 2, "1,3" },
        { " 1 , 2 - 4 ", 0, 4, "1-4" },
        { "7,0-3,2", 0, 5, "0-3,7" },
        { "0-1\n", 0, 2, "0-1" },
        { "62-65,127,128", 0, 6, "62-65,127-128" },
        { "0-65535", 0, 65536, "0-65535" },
        { "65535", 0, 1, "65535" },
        { "0-65536", TEXT_E_MALFORMED, 0, NULL },
        { "65536", TEXT_E_MALFORMED, 0, NULL },
        { "3-1", TEXT_E_MALFORMED, 0, NULL },
        { "", TEXT_E_MALFORMED, 0, NULL },
        { " , ", TEXT_E_MALFORMED, 0, NULL },
        { "0,x", TEXT_E_MALFORMED, 0, NULL },
        { "-3", TEXT_E_MALFORMED, 0, NULL },
        { "3-", TEXT_E_MALFORMED, 0, NULL },
        { "1-2-3", TEXT_E_MALFORMED, 0, NULL },
        { "99999999999", TEXT_E_MALFORMED, 0, NULL },
        { "1 2", TEXT_E_MALFORMED, 0, NULL },
};

START_TEST(lists_are_whole_or_refused) {
        size_t n = 4711;

        ck_assert_int_eq(cpu_list_parse(span_of(list_rows[_i].text), mask, &n), list_rows[_i].r);
        ck_assert_uint_eq(n, list_rows[_i].r == 0 ? list_rows[_i].n : 4711);
}
END_TEST

START_TEST(what_was_parsed_is_formatted_in_order) {
        char text[64];
        size_t n, n_chars, n_cpus;

        if (list_rows[_i].r != 0)
                return;
        ck_assert_int_eq(cpu_list_parse(span_of(list_rows[_i].text), mask, &n), 0);
        ck_assert_int_eq(
                cpu_list_format(mask, CPU_LIST_MAX_WORDS, text, sizeof(text), &n_chars, &n_cpus),
                0);
        ck_assert_uint_eq(n_cpus, n);
        ck_assert(span_is((Span){ text, n_chars }, list_rows[_i].canonical));
}
END_TEST

START_TEST(a_text_that_does_not_fit_is_refused) {
        char text[5] = "0-1,"; /* no terminator is written */
        unsigned long few = 0x13;
        size_t n_chars = 4711, n_cpus = 4711;

        ck_assert_int_eq(cpu_list_format(&few, 1, text, 4, &n_chars, &n_cpus), TEXT_E_TOO_LARGE);
        ck_assert_uint_eq(n_chars, 4711);
        ck_assert_int_eq(cpu_list_format(&few, 1, text, 5, &n_chars, &n_cpus), 0);
        ck_assert(span_is((Span){ text, n_chars }, "0-1,4"));
        ck_assert_uint_eq(n_cpus, 3);
}
END_TEST

START_TEST(an_empty_mask_is_an_empty_text) {
        unsigned long none[2] = { 0, 0 };
        size_t n_chars, n_cpus;
        char text[1];

        ck_assert_int_eq(cpu_list_format(none, 2, text, 0, &n_chars, &n_cpus), 0);
        ck_assert_uint_eq(n_chars, 0);
        ck_assert_uint_eq(n_cpus, 0);
        ck_assert_int_eq(cpu_list_format(none, 0, text, 0, &n_chars, &n_cpus), 0);
}
END_TEST

START_TEST(a_range_runs_over_words_to_the_last_bit) {
        unsigned long full[3] = { ~0UL, ~0UL, ~0UL };
        size_t n_chars, n_cpus;
        char text[16], wanted[16];

        (void) snprintf(wanted, sizeof(wanted), "0-%zu", 3 * CPU_LIST_WORD_BITS - 1);
        ck_assert_int_eq(cpu_list_format(full, 3, text, sizeof(text), &n_chars, &n_cpus), 0);
        ck_assert(span_is((Span){ text, n_chars }, wanted));
        ck_assert_uint_eq(n_cpus, 3 * CPU_LIST_WORD_BITS);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cpu-list");
        TCase *parse = tcase_create("parse");
        TCase *format = tcase_create("format");

        tcase_add_loop_test(parse, lists_are_whole_or_refused, 0, ELEMENTSOF(list_rows));
        tcase_add_loop_test(parse, what_was_parsed_is_formatted_in_order, 0, ELEMENTSOF(list_rows));
        tcase_add_test(format, a_text_that_does_not_fit_is_refused);
        tcase_add_test(format, an_empty_mask_is_an_empty_text);
        tcase_add_test(format, a_range_runs_over_words_to_the_last_bit);
        suite_add_tcase(suite, parse);
        suite_add_tcase(suite, format);
        return check_main(suite);
}
