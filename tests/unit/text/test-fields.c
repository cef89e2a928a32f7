/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "base/macro.h"
#include "kernel/text/fields.h"

static const Span keys[] = { SPAN_LITERAL("one"), SPAN_LITERAL("two"), SPAN_LITERAL("tw") };

START_TEST(fields_take_what_was_asked_for) {
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };

        ck_assert(fields_put(&fields, span_of("tw"), span_of("18446744073709551615")));
        ck_assert(!fields_put(&fields, span_of("three"), span_of("not a number")));
        ck_assert(fields_put(&fields, span_of("one"), span_of("0")));
        ck_assert_uint_eq(fields.present, 1u << 0 | 1u << 2);
        ck_assert_uint_eq(values[0], 0);
        ck_assert_uint_eq(values[2], UINT64_MAX);
        ck_assert(!fields.malformed);
}
END_TEST

START_TEST(a_field_twice_is_absent_for_good) {
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };

        for (unsigned i = 0; i < 3; i++)
                ck_assert(fields_put(&fields, span_of("one"), span_of("1")));
        ck_assert(fields_put(&fields, span_of("two"), span_of("2")));
        ck_assert_uint_eq(fields.present, 1u << 1);
        ck_assert(fields.malformed);
}
END_TEST

static const char *const bad_values[] = { "", "-1", "1.5", "x", "1 2", "18446744073709551616" };

START_TEST(a_field_without_a_number_is_absent) {
        uint64_t values[ELEMENTSOF(keys)];
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };

        ck_assert(fields_put(&fields, span_of("one"), span_of(bad_values[_i])));
        ck_assert_uint_eq(fields.present, 0);
        ck_assert(fields.malformed);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("fields");
        TCase *put = tcase_create("put");

        tcase_add_test(put, fields_take_what_was_asked_for);
        tcase_add_test(put, a_field_twice_is_absent_for_good);
        tcase_add_loop_test(put, a_field_without_a_number_is_absent, 0, ELEMENTSOF(bad_values));
        suite_add_tcase(suite, put);
        return check_main(suite);
}
