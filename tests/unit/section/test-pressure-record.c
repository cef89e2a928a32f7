/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

#include "check-main.h"

static PressureRecord scan(const char *json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        PressureRecord record = {};

        ck_assert_msg(member_scan_text(span_of(json), pressure_scan_member,
                                       &(PressureScan){ .record = &record }, complaint) == 0,
                      "%s", complaint);
        return record;
}

static const struct {
        const char *json;
        unsigned resource;
        bool has;
} has_rows[] = {
        { "null", PRESSURE_RESOURCE_CPU, false },
        { "{\"cpu\":null,\"disk\":{\"some\":{\"avg10\":1}}}", PRESSURE_RESOURCE_CPU, false },
        { "{\"cpu\":{\"some\":{\"avg10\":0,\"total_usec\":0}}}", PRESSURE_RESOURCE_CPU, false },
        { "{\"cpu\":{\"some\":{\"avg10\":null,\"total_usec\":1}}}", PRESSURE_RESOURCE_CPU, true },
        { "{\"cpu\":{\"some\":{\"avg10\":1}}}", PRESSURE_RESOURCE_MEMORY, false },
        { "{\"irq\":{\"full\":{\"avg300\":10099}}}", PRESSURE_RESOURCE_IRQ, true },
};

START_TEST(zeros_are_no_pressure) {
        PressureRecord record = scan(has_rows[_i].json);

        ck_assert(pressure_record_has(&record, has_rows[_i].resource) == has_rows[_i].has);
}
END_TEST

static const char *const malformed_rows[] = {
        "[]",
        "{\"cpu\":1}",
        "{\"cpu\":{\"some\":[]}}",
        "{\"cpu\":{\"full\":{\"total_usec\":\"1\"}}}",
};

START_TEST(pressure_of_another_shape_is_malformed) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        PressureRecord record = {};

        ck_assert_int_eq(member_scan_text(span_of(malformed_rows[_i]), pressure_scan_member,
                                          &(PressureScan){ .record = &record }, complaint),
                         JSON_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(complaint, "expected"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("pressure-record");
        TCase *records = tcase_create("records");

        tcase_add_loop_test(records, zeros_are_no_pressure, 0, ELEMENTSOF(has_rows));
        tcase_add_loop_test(records, pressure_of_another_shape_is_malformed, 0,
                            ELEMENTSOF(malformed_rows));
        suite_add_tcase(suite, records);
        return check_main(suite);
}
