/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-row.h"

#include "check-main.h"

/* One value whose name the row has, or several that have fixed places. */
START_TEST(a_row_of_every_section_has_values) {
        json_object *json = json_object_new_object();
        SectionRow row = section_row_read((SectionId) _i, json);

        if (view_table_forms[_i].value)
                ck_assert_uint_eq(row.n_values, 1);
        else
                ck_assert_uint_gt(row.n_values, 1);
        ck_assert_uint_le(row.n_values, ELEMENTSOF(row.values));
        ck_assert_int_eq(section_find(view_table_names[_i]), _i);
        (void) json_object_put(json);
}
END_TEST

START_TEST(an_unknown_section_is_not_found) {
        ck_assert_int_eq(section_find("host-memories"), _SECTION_MAX);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-row");
        TCase *rows = tcase_create("rows");

        tcase_add_loop_test(rows, a_row_of_every_section_has_values, 0, _SECTION_MAX);
        tcase_add_test(rows, an_unknown_section_is_not_found);
        suite_add_tcase(suite, rows);
        return check_main(suite);
}
