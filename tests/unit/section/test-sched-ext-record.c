/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/sched-ext-record.h"

#include "check-main.h"
#include "sectioned.h"

#define DISABLED "{\"state\":\"disabled\",\"switch_all\":0,\"nr_rejected\":0,\"enable_seq\":1}"

static const struct {
        const char *before, *after; /* NULL: not there */
        bool differs;
} differ_rows[] = {
        { NULL, NULL, false },
        { DISABLED, NULL, true },
        { NULL, DISABLED, true },
        { DISABLED, DISABLED, false },
        { DISABLED, "{\"state\":\"enabled\",\"switch_all\":0,\"nr_rejected\":0,\"enable_seq\":1}",
          true },
        { DISABLED,
          "{\"state\":\"disabled\",\"switch_all\":0,\"nr_rejected\":null,"
          "\"enable_seq\":1}",
          true },
        { "{\"state\":\"\"}", "{\"state\":null}", false },
        { "{\"ops\":\"a\"}", "{\"ops\":\"b\"}", true },
        { "{\"events\":{\"X\":1}}", "{\"events\":{\"X\":2}}", true },
        { "{\"events\":{\"X\":0}}", "{\"events\":{}}", true },
};

START_TEST(a_difference_of_anything_counts) {
        const char *const texts[] = { differ_rows[_i].before, differ_rows[_i].after };
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 2);

        for (unsigned i = 0; i < 2; i++)
                if (texts[i])
                        ck_assert_int_eq(sections_add_of_host(sections, i, SECTION_SCHED_EXT,
                                                              span_of(texts[i])),
                                         0);
        ck_assert(section_has_data(sections, SECTION_SCHED_EXT) == differ_rows[_i].differs);
}
END_TEST

static const char *const malformed_rows[] = {
        "[]",
        "{\"state\":1}",
        "{\"switch_all\":\"0\"}",
        "{\"events\":{\"X\":\"1\"}}",
};

START_TEST(sched_ext_of_another_shape_is_malformed) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        SchedExtRecord record = {};
        KeyTree names = {};

        ck_assert_int_eq(
                sched_ext_record_scan(&record, span_of(malformed_rows[_i]), &names, complaint),
                JSON_E_MALFORMED);
        ck_assert(!record.has);
        count_map_done(&record.events);
        key_tree_done(&names, NULL);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("sched-ext-record");
        TCase *records = tcase_create("records");

        tcase_add_loop_test(records, a_difference_of_anything_counts, 0, ELEMENTSOF(differ_rows));
        tcase_add_loop_test(records, sched_ext_of_another_shape_is_malformed, 0,
                            ELEMENTSOF(malformed_rows));
        suite_add_tcase(suite, records);
        return check_main(suite);
}
