/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/midpoint.h"

#include <check.h>

#include "check-main.h"
#include "base/macro.h"

static const struct {
        const char *a, *b, *midpoint; /* NULL: none */
} rows[] = {
        { "0", "5", "2.5" },
        { "2", "2", "2" },
        { "-20", "19", "-0.5" },
        { "-20", "-19", "-19.5" },
        { "-3", "3", "0" },
        { "18446744073709551615", "18446744073709551615", "18446744073709551615" },
        { "18446744073709551614", "18446744073709551615", "18446744073709551614.5" },
        { "-9223372036854775808", "18446744073709551615", "4611686018427387903.5" },
        { "1.5", "2", NULL },
        { "null", "2", NULL },
        { "2", "\"2\"", NULL },
};

START_TEST(midpoints_are_exact) {
        json_object *a = json_tokener_parse(rows[_i].a), *b = json_tokener_parse(rows[_i].b);
        char text[MIDPOINT_CHARS];

        ck_assert_int_eq(midpoint_format(a, b, text), rows[_i].midpoint != NULL);
        if (rows[_i].midpoint)
                ck_assert_str_eq(text, rows[_i].midpoint);
        (void) json_object_put(a);
        (void) json_object_put(b);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("midpoint");
        TCase *tcase = tcase_create("midpoint");

        tcase_add_loop_test(tcase, midpoints_are_exact, 0, ELEMENTSOF(rows));
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
