/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-record.h"

#include "check-main.h"

static void scan_into(CgroupRecord *record, KeyTree *names, const char *json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";

        ck_assert_msg(cgroup_record_scan(record, span_of(json), names, complaint) == 0, "%s",
                      complaint);
}

static void scan(CgroupRecord *record, KeyTree *names, const char *json) {
        *names = (KeyTree){};
        *record = (CgroupRecord){};
        scan_into(record, names, json);
}

static void done(CgroupRecord *record, KeyTree *names) {
        cgroup_record_done(record);
        key_tree_done(names, NULL);
}

START_TEST(fields_are_found_in_their_objects) {
        CgroupRecord record;
        KeyTree names = {};

        scan(&record, &names,
             "{\"later\":[1],\"cpu\":{\"usage_usec\":7,\"max\":9,\"max_quota_us\":\"max\","
             "\"weight_nice\":-5},\"memory\":{\"current\":11,\"max\":null,\"stat\":{\"anon\":3},"
             "\"events\":null},\"pids\":{\"current\":2,\"max\":13},\"io\":{},"
             "\"psi\":{\"io\":{\"full\":{\"total_usec\":17}}}}");
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_USAGE].magnitude, 7);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_QUOTA].state, READING_MAX);
        ck_assert(record.fields[CGROUP_FIELD_NICE].negative);
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_MEMORY].magnitude, 11);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_MAX].state, READING_ABSENT);
        ck_assert_int_eq(record.fields[CGROUP_FIELD_MEMORY_LOW].state, READING_ABSENT);
        ck_assert_uint_eq(record.fields[CGROUP_FIELD_PIDS].magnitude, 2);
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
        KeyTree names = {};

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
        KeyTree names = {};

        ck_assert_int_eq(
                cgroup_record_scan(&record, span_of(malformed_rows[_i]), &names, complaint),
                JSON_E_MALFORMED);
        ck_assert_str_ne(complaint, "");
        done(&record, &names);
}
END_TEST

static const struct {
        const char *json;
        ReadingState state;
        uint64_t millicpus;
} cpu_rows[] = {
        { "{\"cpu\":{\"max_quota_us\":20000,\"max_period_us\":100000}}", READING_NUMBER, 200 },
        { "{\"cpu\":{\"max_quota_us\":250000,\"max_period_us\":100000}}", READING_NUMBER, 2500 },
        { "{\"cpu\":{\"max_quota_us\":1,\"max_period_us\":3}}", READING_NUMBER, 333 },
        { "{\"cpu\":{\"max_quota_us\":2,\"max_period_us\":3}}", READING_NUMBER, 667 },
        { "{\"cpu\":{\"max_quota_us\":18446744073709551615,\"max_period_us\":1}}", READING_NUMBER,
          UINT64_MAX },
        { "{\"cpu\":{\"max_quota_us\":\"max\",\"max_period_us\":100000}}", READING_MAX, 0 },
        { "{\"cpu\":{\"max_quota_us\":1,\"max_period_us\":0}}", READING_ABSENT, 0 },
        { "{\"cpu\":{\"max_quota_us\":1}}", READING_ABSENT, 0 },
        { "{}", READING_ABSENT, 0 },
};

START_TEST(a_quota_is_a_number_of_cpus) {
        CgroupRecord record;
        Reading cpus;
        KeyTree names = {};

        scan(&record, &names, cpu_rows[_i].json);
        cpus = cgroup_cpus(record.fields[CGROUP_FIELD_QUOTA], record.fields[CGROUP_FIELD_PERIOD]);
        ck_assert_int_eq((int) cpus.state, (int) cpu_rows[_i].state);
        ck_assert_uint_eq(cpus.magnitude, cpu_rows[_i].millicpus);
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

#define ABSENT ((Reading){})
#define MAX ((Reading){ .state = READING_MAX })
#define MINUS(number) ((Reading){ READING_NUMBER, true, (number) })

/* The value of one field in two records, and in the merged record. */
static const struct {
        CgroupField field;
        Reading a, b, merged;
} field_rows[] = {
        { CGROUP_FIELD_USAGE, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_USAGE, READING(1), ABSENT, READING(1) },
        { CGROUP_FIELD_USAGE, READING(UINT64_MAX), READING(2), READING(UINT64_MAX) },
        { CGROUP_FIELD_NR_THROTTLED, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_THROTTLED, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_QUOTA, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_QUOTA, READING(1), MAX, MAX },
        { CGROUP_FIELD_QUOTA, READING(1), ABSENT, ABSENT },
        { CGROUP_FIELD_PERIOD, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_PERIOD, READING(1), ABSENT, READING(1) },
        { CGROUP_FIELD_WEIGHT, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_WEIGHT, READING(1), ABSENT, ABSENT },
        { CGROUP_FIELD_NICE, MINUS(5), MINUS(7), MINUS(5) },
        { CGROUP_FIELD_NICE, MINUS(5), ABSENT, ABSENT },
        { CGROUP_FIELD_MEMORY, READING(1), READING(2), READING(2) },
        { CGROUP_FIELD_MEMORY, READING(1), ABSENT, READING(1) },
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
        { CGROUP_FIELD_PIDS, READING(1), READING(2), READING(3) },
        { CGROUP_FIELD_PIDS, READING(1), ABSENT, READING(1) },
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
        KeyTree names = {};

        scan_into(&a, &names,
                  "{\"memory\":{\"stat\":{\"anon\":10,\"pgfault\":5,\"workingset_refault_anon\":9,"
                  "\"later\":18446744073709551615},\"events\":{\"oom_kill\":1,\"low\":5}}}");
        scan_into(
                &b, &names,
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
        KeyTree names = {};

        scan_into(&a, &names,
                  "{\"psi\":{\"cpu\":{\"some\":{\"avg10\":100,\"avg60\":5,\"total_usec\":7}}}}");
        scan_into(&b, &names,
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
        Suite *suite = suite_create("cgroup-record");
        TCase *records = tcase_create("records"), *merges = tcase_create("merges");

        tcase_add_test(records, fields_are_found_in_their_objects);
        tcase_add_test(records, full_protection_is_told_from_a_number);
        tcase_add_loop_test(records, a_record_of_another_shape_is_malformed, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_loop_test(records, a_quota_is_a_number_of_cpus, 0, ELEMENTSOF(cpu_rows));
        tcase_add_test(records, what_memory_stat_holds_is_bytes);
        suite_add_tcase(suite, records);
        tcase_add_loop_test(merges, every_field_has_its_rule, 0, ELEMENTSOF(field_rows));
        tcase_add_loop_test(merges, keys_of_maps_have_rules_too, 0, ELEMENTSOF(key_rows));
        tcase_add_test(merges, pressure_averages_peak_and_totals_add_up);
        suite_add_tcase(suite, merges);
        return check_main(suite);
}
