/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/html-data.h"

#include <check.h>
#include <stdio.h>

#include "check-main.h"

#define KEPT HTML_REASONS_MAX

static HtmlReason put(NameSet *reasons, unsigned i, size_t *ret_number) {
        char text[32];

        (void) snprintf(text, sizeof(text), "reason %u", i);
        return html_reasons_put(reasons, span_of(text), ret_number);
}

START_TEST(reasons_are_numbered_as_they_come) {
        NameSet reasons = {};
        size_t number = 99;

        for (unsigned i = 0; i < KEPT; i++)
                ck_assert_int_eq(put(&reasons, i, &number), HTML_REASON_NEW);
        for (unsigned i = 0; i < KEPT; i++) {
                ck_assert_int_eq(put(&reasons, i, &number), HTML_REASON_KNOWN);
                ck_assert_uint_eq(number, i);
        }
        name_set_done(&reasons);
}
END_TEST

START_TEST(a_full_table_keeps_what_it_has) {
        NameSet reasons = {};
        size_t number = 99;

        for (unsigned i = 0; i < KEPT; i++)
                ck_assert_int_eq(put(&reasons, i, &number), HTML_REASON_NEW);
        ck_assert_int_eq(put(&reasons, KEPT, &number), HTML_REASON_HOMELESS);
        ck_assert_int_eq(put(&reasons, KEPT, &number), HTML_REASON_HOMELESS);
        ck_assert_int_eq(put(&reasons, 7, &number), HTML_REASON_KNOWN);
        ck_assert_uint_eq(number, 7);
        name_set_done(&reasons);
}
END_TEST

START_TEST(an_emptied_table_begins_anew) {
        NameSet reasons = {};
        size_t number = 99;

        ck_assert_int_eq(put(&reasons, 1, &number), HTML_REASON_NEW);
        name_set_done(&reasons);
        ck_assert_int_eq(put(&reasons, 2, &number), HTML_REASON_NEW);
        ck_assert_int_eq(put(&reasons, 2, &number), HTML_REASON_KNOWN);
        ck_assert_uint_eq(number, 0);
        name_set_done(&reasons);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("html-reasons");
        TCase *table = tcase_create("reasons");

        tcase_add_test(table, reasons_are_numbered_as_they_come);
        tcase_add_test(table, a_full_table_keeps_what_it_has);
        tcase_add_test(table, an_emptied_table_begins_anew);
        suite_add_tcase(suite, table);
        return check_main(suite);
}
