/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

#include "check-main.h"

#define ABSENT ((Reading){})
#define MAX ((Reading){ .state = READING_MAX })
#define MINUS(number) ((Reading){ READING_NUMBER, true, (number) })

/* The value of one field in two records, and in what they make. */
static const struct {
        CgroupField field;
        Reading a, b, merged;
} field_rows[] = {
        { CGROUP_FIELD_USAGE_USEC, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_USAGE_USEC, READING(1), ABSENT, READING(1) },
        { CGROUP_FIELD_USAGE_USEC, READING(UINT64_MAX), READING(2), READING(UINT64_MAX) },
        { CGROUP_FIELD_NR_THROTTLED, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_THROTTLED_USEC, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_MAX_QUOTA_US, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_MAX_QUOTA_US, READING(1), MAX, MAX },
        { CGROUP_FIELD_MAX_QUOTA_US, READING(1), ABSENT, ABSENT },
        { CGROUP_FIELD_MAX_PERIOD_US, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_MAX_PERIOD_US, READING(1), ABSENT, READING(1) },
        { CGROUP_FIELD_WEIGHT, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_WEIGHT, READING(1), ABSENT, ABSENT },
        { CGROUP_FIELD_WEIGHT_NICE, MINUS(5), MINUS(7), MINUS(5) },
        { CGROUP_FIELD_WEIGHT_NICE, MINUS(5), ABSENT, ABSENT },
        { CGROUP_FIELD_MEMORY_CURRENT, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_MEMORY_CURRENT, READING(1), ABSENT, READING(1) },
        { CGROUP_FIELD_MEMORY_MAX, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_MEMORY_MAX, READING(1), MAX, MAX },
        { CGROUP_FIELD_MEMORY_MAX, READING(1), ABSENT, ABSENT },
        { CGROUP_FIELD_MEMORY_MAX, ABSENT, MAX, MAX },
        { CGROUP_FIELD_MEMORY_HIGH, READING(1), MAX, MAX },
        { CGROUP_FIELD_MEMORY_LOW, READING(1), READING(2), READING(1) },
        { CGROUP_FIELD_MEMORY_LOW, READING(1), MAX, READING(1) },
        { CGROUP_FIELD_MEMORY_LOW, MAX, MAX, MAX },
        { CGROUP_FIELD_MEMORY_LOW, READING(1), ABSENT, ABSENT },
        { CGROUP_FIELD_MEMORY_MIN, READING(1), READING(2), READING(1) },
        { CGROUP_FIELD_PIDS_CURRENT, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_PIDS_CURRENT, READING(1), ABSENT, READING(1) },
        { CGROUP_FIELD_PIDS_MAX, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_PIDS_MAX, READING(1), MAX, MAX },
};

START_TEST(every_field_has_its_rule) {
        CgroupField field = field_rows[_i].field;
        CgroupRecord a = {}, b = {}, c;

        a.fields[field] = field_rows[_i].a;
        b.fields[field] = field_rows[_i].b;
        c = b;
        ck_assert_int_eq(cgroup_record_merge(&b, &a), 0);
        ck_assert_int_eq(cgroup_record_merge(&a, &c), 0);
        ck_assert(reading_equal(a.fields[field], field_rows[_i].merged));
        ck_assert(reading_equal(b.fields[field], field_rows[_i].merged));
        for (CgroupField other = 0; other < _CGROUP_FIELD_MAX; other++)
                if (other != field)
                        ck_assert_int_eq(a.fields[other].state, READING_ABSENT);
}
END_TEST

static void scan(CgroupRecord *record, KeyTree *names, const char *json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";

        ck_assert_msg(cgroup_record_scan(record, span_of(json), names, complaint) == 0, "%s",
                      complaint);
}

static const struct {
        const char *key;
        bool is_event;
        uint64_t merged;
} key_rows[] = {
        { "anon", false, 30 },        /* held now: the larger */
        { "zswap_incomp", false, 7 }, /* in one of them */
        { "pgfault", false, 12 },     /* counted: both */
        { "workingset_refault_anon", false, 9 },
        { "later", false, UINT64_MAX }, /* unknown: counted */
        { "oom_kill", true, 3 },
        { "low", true, 5 },
};

START_TEST(keys_of_maps_have_rules_too) {
        CgroupRecord a = {}, b = {};
        Reading merged;
        KeyTree names;

        key_tree_init(&names, 0);
        scan(&a, &names,
             "{\"memory\":{\"stat\":{\"anon\":10,\"pgfault\":5,\"workingset_refault_anon\":9,"
             "\"later\":18446744073709551615},\"events\":{\"oom_kill\":1,\"low\":5}}}");
        scan(&b, &names,
             "{\"memory\":{\"stat\":{\"anon\":30,\"pgfault\":7,\"zswap_incomp\":7,\"later\":2},"
             "\"events\":{\"oom_kill\":2}}}");
        ck_assert_int_eq(cgroup_record_merge(&a, &b), 0);
        merged = count_map_get(key_rows[_i].is_event ? &a.events : &a.stat,
                               span_of(key_rows[_i].key));
        ck_assert_int_eq(merged.state, READING_NUMBER);
        ck_assert_uint_eq(merged.magnitude, key_rows[_i].merged);
        cgroup_record_done(&a);
        cgroup_record_done(&b);
        key_tree_done(&names, NULL);
}
END_TEST

START_TEST(pressure_averages_peak_and_totals_add_up) {
        CgroupRecord a = {}, b = {};
        const Reading *values = a.pressure.values[PRESSURE_RESOURCE_CPU][PRESSURE_HALF_SOME];
        KeyTree names;

        key_tree_init(&names, 0);
        scan(&a, &names,
             "{\"psi\":{\"cpu\":{\"some\":{\"avg10\":100,\"avg60\":5,\"total_usec\":7}}}}");
        scan(&b, &names,
             "{\"psi\":{\"cpu\":{\"some\":{\"avg10\":50,\"avg300\":1,\"total_usec\":8},"
             "\"full\":null},\"io\":null}}");
        ck_assert_int_eq(cgroup_record_merge(&a, &b), 0);
        ck_assert_uint_eq(values[PRESSURE_VALUE_AVG10].magnitude, 100);
        ck_assert_uint_eq(values[PRESSURE_VALUE_AVG60].magnitude, 5);
        ck_assert_uint_eq(values[PRESSURE_VALUE_AVG300].magnitude, 1);
        ck_assert_uint_eq(values[PRESSURE_VALUE_TOTAL].magnitude, 15);
        cgroup_record_done(&a);
        cgroup_record_done(&b);
        key_tree_done(&names, NULL);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-merge");
        TCase *merges = tcase_create("merges");

        tcase_add_loop_test(merges, every_field_has_its_rule, 0, ELEMENTSOF(field_rows));
        tcase_add_loop_test(merges, keys_of_maps_have_rules_too, 0, ELEMENTSOF(key_rows));
        tcase_add_test(merges, pressure_averages_peak_and_totals_add_up);
        suite_add_tcase(suite, merges);
        return check_main(suite);
}
