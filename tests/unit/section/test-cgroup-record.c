/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

#include "check-main.h"

static void scan(CgroupRecord *record, KeyTree *names, const char *json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";

        key_tree_init(names, 0);
        *record = (CgroupRecord){};
        ck_assert_msg(cgroup_record_scan(record, span_of(json), names, complaint) == 0, "%s",
                      complaint);
}

static void done(CgroupRecord *record, KeyTree *names) {
        cgroup_record_done(record);
        key_tree_done(names, NULL);
}

START_TEST(fields_are_found_in_their_objects) {
        CgroupRecord record;
        KeyTree names;

        scan(&record, &names,
             "{\"later\":[1],\"cpu\":{\"usage_usec\":7,\"max\":9,\"max_quota_us\":\"max\","
             "\"weight_nice\":-5},\"memory\":{\"current\":11,\"max\":null,\"stat\":{\"anon\":3},"
             "\"events\":null},\"pids\":{\"current\":2,\"max\":13},\"io\":{},"
             "\"psi\":{\"io\":{\"full\":{\"total_usec\":17}}}}");
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_USAGE_USEC].magnitude, 7);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MAX_QUOTA_US].state, READING_MAX);
        ck_assert(record.fields[CGROUP_FIELD_WEIGHT_NICE].negative);
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_MEMORY_CURRENT].magnitude, 11);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_MAX].state, READING_ABSENT);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_LOW].state, READING_ABSENT);
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_PIDS_CURRENT].magnitude, 2);
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_PIDS_MAX].magnitude, 13);
        ck_assert_uint_eq(record.stat.n, 1);
        ck_assert_uint_eq(record.events.n, 0);
        ck_assert_uint_eq(
                record.pressure
                        .values[PRESSURE_RESOURCE_IO][PRESSURE_HALF_FULL][PRESSURE_VALUE_TOTAL]
                        .magnitude,
                17);
        done(&record, &names);
}
END_TEST

START_TEST(full_protection_is_told_from_a_number) {
        CgroupRecord record;
        KeyTree names;

        scan(&record, &names,
             "{\"memory\":{\"low\":18446744073709551615,\"min\":18446744073709551614,"
             "\"high\":18446744073709551615}}");
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_LOW].state, READING_MAX);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_MIN].state, READING_NUMBER);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_HIGH].state, READING_NUMBER);
        done(&record, &names);
}
END_TEST

static const char *const malformed_rows[] = {
        "7",
        "{\"cpu\":7}",
        "{\"cpu\":{\"usage_usec\":\"max\"}}",
        "{\"cpu\":{\"weight\":-1}}",
        "{\"cpu\":{\"weight_nice\":\"0\"}}",
        "{\"memory\":{\"max\":\"lots\"}}",
        "{\"memory\":{\"stat\":{\"anon\":null}}}",
        "{\"memory\":{\"stat\":[]}}",
        "{\"pids\":{\"max\":true}}",
        "{\"psi\":{\"cpu\":[]}}",
        "{\"psi\":{\"cpu\":{\"some\":{\"avg10\":-1}}}}",
        "{\"cpu\":{}",
};

START_TEST(a_record_of_another_shape_is_malformed) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        CgroupRecord record = {};
        KeyTree names;

        key_tree_init(&names, 0);
        ck_assert_int_eq(
                cgroup_record_scan(&record, span_of(malformed_rows[_i]), &names, complaint),
                JSON_E_MALFORMED);
        ck_assert_str_ne(complaint, "");
        done(&record, &names);
}
END_TEST

static const struct {
        const char *json;
        bool has;
        uint64_t millicpus;
} cpu_rows[] = {
        { "{\"cpu\":{\"max_quota_us\":20000,\"max_period_us\":100000}}", true, 200 },
        { "{\"cpu\":{\"max_quota_us\":250000,\"max_period_us\":100000}}", true, 2500 },
        { "{\"cpu\":{\"max_quota_us\":1,\"max_period_us\":3}}", true, 333 },
        { "{\"cpu\":{\"max_quota_us\":2,\"max_period_us\":3}}", true, 667 },
        { "{\"cpu\":{\"max_quota_us\":18446744073709551615,\"max_period_us\":1}}", true,
          UINT64_MAX },
        { "{\"cpu\":{\"max_quota_us\":\"max\",\"max_period_us\":100000}}", false, 0 },
        { "{\"cpu\":{\"max_quota_us\":1,\"max_period_us\":0}}", false, 0 },
        { "{\"cpu\":{\"max_quota_us\":1}}", false, 0 },
        { "{}", false, 0 },
};

START_TEST(a_quota_is_a_number_of_cpus) {
        uint64_t millicpus = 0;
        CgroupRecord record;
        KeyTree names;

        scan(&record, &names, cpu_rows[_i].json);
        ck_assert(cgroup_record_millicpus(&record, &millicpus) == cpu_rows[_i].has);
        ck_assert_uint_eq(millicpus, cpu_rows[_i].millicpus);
        done(&record, &names);
}
END_TEST

START_TEST(what_memory_stat_holds_is_bytes) {
        ck_assert(memory_stat_is_gauge(SPAN_LITERAL("anon")));
        ck_assert(memory_stat_is_gauge(SPAN_LITERAL("slab_reclaimable")));
        ck_assert(memory_stat_is_gauge(SPAN_LITERAL("hugetlb")));
        ck_assert(!memory_stat_is_gauge(SPAN_LITERAL("pgfault")));
        ck_assert(!memory_stat_is_gauge(SPAN_LITERAL("workingset_refault_anon")));
        ck_assert(!memory_stat_is_gauge(SPAN_LITERAL("thp_fault_alloc")));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-record");
        TCase *records = tcase_create("records");

        tcase_add_test(records, fields_are_found_in_their_objects);
        tcase_add_test(records, full_protection_is_told_from_a_number);
        tcase_add_loop_test(records, a_record_of_another_shape_is_malformed, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_loop_test(records, a_quota_is_a_number_of_cpus, 0, ELEMENTSOF(cpu_rows));
        tcase_add_test(records, what_memory_stat_holds_is_bytes);
        suite_add_tcase(suite, records);
        return check_main(suite);
}
