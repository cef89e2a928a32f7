/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"

START_TEST(appends_arrive_in_order) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(buffer_append_text(&buffer, "a"), 0);
        ck_assert_int_eq(buffer_append_u64(&buffer, 4711), 0);
        ck_assert_int_eq(buffer_append_byte(&buffer, '-'), 0);
        ck_assert_int_eq(buffer_append_format(&buffer, "%s/%03d", "x", 7), 0);
        ck_assert(span_is(buffer_span(&buffer), "a4711-x/007"));
        buffer_done(&buffer);
}
END_TEST

START_TEST(growth_keeps_the_content) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        for (unsigned i = 0; i < 10000; i++)
                ck_assert_int_eq(buffer_append_byte(&buffer, (char) ('a' + i % 26)), 0);
        ck_assert_uint_eq(buffer.n, 10000);
        for (unsigned i = 0; i < 10000; i++)
                ck_assert_int_eq(buffer.bytes[i], 'a' + (int) i % 26);
        buffer_done(&buffer);
}
END_TEST

START_TEST(ceiling_refuses_whole_appends) {
        Buffer buffer;

        buffer_init(&buffer, 4);
        ck_assert_int_eq(buffer_append_text(&buffer, "abcd"), 0);
        ck_assert_int_eq(buffer_append_byte(&buffer, 'e'), -EMSGSIZE);
        ck_assert(span_is(buffer_span(&buffer), "abcd"));
        buffer_done(&buffer);
}
END_TEST

START_TEST(front_can_be_dropped) {
        Buffer buffer;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(buffer_append_text(&buffer, "headtail"), 0);
        buffer_drop_front(&buffer, 4);
        ck_assert(span_is(buffer_span(&buffer), "tail"));
        buffer_drop_front(&buffer, 4);
        ck_assert_uint_eq(buffer.n, 0);
        buffer_done(&buffer);
}
END_TEST

START_TEST(text_is_terminated_and_taken) {
        Buffer buffer;
        const char *borrowed;
        char *owned;

        buffer_init(&buffer, 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &borrowed), 0);
        ck_assert_str_eq(borrowed, "");
        ck_assert_int_eq(buffer_append_text(&buffer, "abc"), 0);
        ck_assert_int_eq(buffer_take_text(&buffer, &owned), 0);
        ck_assert_str_eq(owned, "abc");
        ck_assert_ptr_null(buffer.bytes);
        free(owned);
        buffer_done(&buffer);
}
END_TEST

START_TEST(the_first_failure_sticks) {
        Buffer buffer;
        char *text;

        buffer_init(&buffer, 4);
        ck_assert_int_eq(buffer_append_text(&buffer, "abc"), 0);
        ck_assert_int_eq(buffer_failure(&buffer), 0);
        ck_assert_int_eq(buffer_append_text(&buffer, "de"), -EMSGSIZE);
        ck_assert_int_eq(buffer_append_text(&buffer, "d"), -EMSGSIZE);
        ck_assert_int_eq(buffer_append_text(&buffer, ""), -EMSGSIZE);
        ck_assert_int_eq(buffer_append_format(&buffer, "%d", 1), -EMSGSIZE);
        ck_assert_int_eq(buffer_failure(&buffer), -EMSGSIZE);
        ck_assert_int_eq(buffer_take_text(&buffer, &text), -EMSGSIZE);
        ck_assert(span_is(buffer_span(&buffer), "abc"));
        buffer_truncate(&buffer, 1);
        ck_assert_int_eq(buffer_append_text(&buffer, "de"), 0);
        ck_assert(span_is(buffer_span(&buffer), "ade"));
        ck_assert_int_eq(buffer_append_text(&buffer, "de"), -EMSGSIZE);
        buffer_clear(&buffer);
        ck_assert_int_eq(buffer_append_text(&buffer, "abcd"), 0);
        buffer_done(&buffer);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("buffer");
        TCase *append = tcase_create("append");

        tcase_add_test(append, appends_arrive_in_order);
        tcase_add_test(append, growth_keeps_the_content);
        tcase_add_test(append, ceiling_refuses_whole_appends);
        tcase_add_test(append, the_first_failure_sticks);
        tcase_add_test(append, front_can_be_dropped);
        tcase_add_test(append, text_is_terminated_and_taken);
        suite_add_tcase(suite, append);
        return check_main(suite);
}
