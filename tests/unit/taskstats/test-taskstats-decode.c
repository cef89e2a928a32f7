/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "taskstats-layouts.h"
#include "kernel/taskstats/taskstats-message.h"

#define ALL_GROUPS                                                             \
        (TASKSTATS_GROUP_BASIC | TASKSTATS_GROUP_CPU | TASKSTATS_GROUP_DELAY | \
         TASKSTATS_GROUP_IRQ | TASKSTATS_GROUP_XACCT | TASKSTATS_GROUP_FAULTS)

static const struct {
        uint16_t version;
        size_t n_bytes;
} version_rows[] = {
        { 8, 328 },  { 9, 344 },  { 10, 352 }, { 11, 368 }, { 12, 400 }, { 13, 416 },
        { 14, 432 }, { 15, 560 }, { 16, 560 }, { 17, 688 }, { 18, 688 },
};

/* Every 8 bytes hold a number of their own. */
static void fill(char bytes[static 688], uint16_t version) {
        for (uint64_t at = 0; at < 688; at += 8)
                memcpy(bytes + at, &(uint64_t){ 1000000 + at }, 8);
        memcpy(bytes, &version, sizeof(version));
}

static void check_metrics(const ThreadSample *sample, uint16_t version, size_t n_valid) {
        for (size_t i = 0; i < ELEMENTSOF(layout_rows); i++) {
                size_t at = version == 15 ? layout_rows[i].at_15 : layout_rows[i].at;
                MetricId id = layout_rows[i].metric;

                ck_assert_msg(thread_sample_has(sample, id) == (at + 8 <= n_valid),
                              "version %u, %zu bytes, %s", version, n_valid, metric_table[id].name);
                if (at + 8 <= n_valid)
                        ck_assert_uint_eq(thread_sample_get(sample, id),
                                          (1000000 + at) * layout_rows[i].scale);
        }
}

START_TEST(every_metric_of_the_registry_is_covered) {
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                bool listed = false;

                if (metric_table[id].section != METRIC_SECTION_TASKSTATS_DELAY &&
                    metric_table[id].section != METRIC_SECTION_TASKSTATS_ACCOUNTING)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(layout_rows); i++)
                        listed |= layout_rows[i].metric == id;
                ck_assert_msg(listed, "%s", metric_table[id].name);
        }
}
END_TEST

START_TEST(a_version_has_its_members_where_its_header_put_them) {
        uint16_t version = version_rows[_i].version;
        ThreadSample sample;
        Taskstats stats;
        char bytes[688];

        fill(bytes, version);
        thread_sample_clear(&sample);
        ck_assert_int_eq(taskstats_decode(bytes, version_rows[_i].n_bytes, &stats), 0);
        ck_assert_uint_eq(stats.version, version);
        taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
        check_metrics(&sample, version, version_rows[_i].n_bytes);
}
END_TEST

START_TEST(members_past_the_length_are_absent) {
        uint16_t version = version_rows[_i].version;

        for (size_t n = 8; n <= version_rows[_i].n_bytes; n += 8) {
                ThreadSample sample;
                Taskstats stats;
                char bytes[688], *exact = malloc(n);

                fill(bytes, version);
                ck_assert_ptr_nonnull(exact);
                memcpy(exact, bytes,
                       n); /* so that a read past the end is one past the heap block */
                thread_sample_clear(&sample);
                ck_assert_int_eq(taskstats_decode(exact, n, &stats), 0);
                taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
                check_metrics(&sample, version, n);
                free(exact);
        }
}
END_TEST

START_TEST(a_member_cut_in_half_is_absent) {
        size_t at = offsetof(GrownTaskstats, nivcsw);
        ThreadSample sample;
        Taskstats stats;
        char bytes[688];

        fill(bytes, 17);
        thread_sample_clear(&sample);
        ck_assert_int_eq(taskstats_decode(bytes, at + 7, &stats), 0);
        taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
        ck_assert(thread_sample_has(&sample, METRIC_voluntary_csw));
        ck_assert(!thread_sample_has(&sample, METRIC_nonvoluntary_csw));
}
END_TEST

START_TEST(bytes_that_a_version_does_not_define_are_not_read) {
        ThreadSample sample;
        Taskstats stats;
        char bytes[688];

        fill(bytes, 9);
        thread_sample_clear(&sample);
        ck_assert_int_eq(taskstats_decode(bytes, sizeof(bytes), &stats), 0);
        taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
        check_metrics(&sample, 9, 344);
}
END_TEST

START_TEST(what_has_no_version_or_too_old_a_one_is_refused) {
        Taskstats stats;
        char bytes[688];

        fill(bytes, 7);
        ck_assert_int_eq(taskstats_decode(bytes, sizeof(bytes), &stats), TASKSTATS_E_TOO_OLD);
        fill(bytes, 0);
        ck_assert_int_eq(taskstats_decode(bytes, sizeof(bytes), &stats), TASKSTATS_E_TOO_OLD);
        fill(bytes, 17);
        ck_assert_int_eq(taskstats_decode(bytes, 1, &stats), TASKSTATS_E_MALFORMED);
        ck_assert_int_eq(taskstats_decode(bytes, 0, &stats), TASKSTATS_E_MALFORMED);
        ck_assert_int_eq(taskstats_decode(bytes, 2, &stats), 0);
}
END_TEST

START_TEST(a_struct_aligned_to_four_bytes_is_read) {
        _Alignas(8) char space[4 + 688];
        ThreadSample sample;
        Taskstats stats;

        fill(space + 4, 16);
        thread_sample_clear(&sample);
        ck_assert_int_eq(taskstats_decode(space + 4, 560, &stats), 0);
        taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
        check_metrics(&sample, 16, 560);
}
END_TEST

START_TEST(the_name_is_where_the_header_put_it) {
        uint16_t version = version_rows[_i].version;
        size_t at =
                version == 15 ? offsetof(Taskstats15, ac_comm) : offsetof(GrownTaskstats, ac_comm);
        char bytes[688], name[TASKSTATS_NAME_BYTES] = "kept";
        Taskstats stats;

        fill(bytes, version);
        ck_assert_int_eq(taskstats_decode(bytes, at + sizeof(name) - 1, &stats), 0);
        ck_assert(!taskstats_get_name(&stats, name));
        ck_assert_str_eq(name, "kept");
        ck_assert_int_eq(taskstats_decode(bytes, version_rows[_i].n_bytes, &stats), 0);
        ck_assert(taskstats_get_name(&stats, name));
        ck_assert_mem_eq(name, bytes + at, sizeof(name));
}
END_TEST

START_TEST(members_that_are_no_metrics_are_found) {
        _Static_assert(ELEMENTSOF(member_rows) == _TASKSTATS_MEMBER_MAX, "one row each");
        uint16_t version = version_rows[_i].version;
        Taskstats stats;
        char bytes[688];

        fill(bytes, version);
        ck_assert_int_eq(taskstats_decode(bytes, version_rows[_i].n_bytes, &stats), 0);
        for (size_t i = 0; i < ELEMENTSOF(member_rows); i++) {
                size_t at = version == 15 ? member_rows[i].at_15 : member_rows[i].at;
                size_t n = member_rows[i].n_bytes;
                bool sent = at + n <= version_rows[_i].n_bytes;
                uint64_t value = 4711, expected = 0;

                memcpy(&expected, bytes + at, n);
                ck_assert_int_eq(taskstats_get(&stats, member_rows[i].member, &value), sent);
                ck_assert_uint_eq(value, sent ? expected : 4711);
        }
}
END_TEST

START_TEST(groups_left_out_leave_their_metrics_absent) {
        static const TaskstatsGroup groups[] = { TASKSTATS_GROUP_BASIC, TASKSTATS_GROUP_CPU,
                                                 TASKSTATS_GROUP_DELAY, TASKSTATS_GROUP_IRQ,
                                                 TASKSTATS_GROUP_XACCT, TASKSTATS_GROUP_FAULTS };
        static const MetricId witnesses[] = { METRIC_voluntary_csw,       METRIC_cpu_delay_max_ns,
                                              METRIC_swapin_delay_min_ns, METRIC_irq_delay_total_ns,
                                              METRIC_hiwater_rss_bytes,   METRIC_majflt };
        ThreadSample sample;
        Taskstats stats;
        char bytes[688];

        fill(bytes, 17);
        ck_assert_int_eq(taskstats_decode(bytes, sizeof(bytes), &stats), 0);
        thread_sample_clear(&sample);
        taskstats_put_metrics(&stats, ALL_GROUPS & ~(unsigned) groups[_i], &sample);
        for (int i = 0; i < (int) ELEMENTSOF(groups); i++)
                ck_assert_int_eq(thread_sample_has(&sample, witnesses[i]), i != _i);
}
END_TEST

START_TEST(a_watermark_of_zero_is_no_measurement_and_one_too_large_clips) {
        ThreadSample sample;
        Taskstats stats;
        GrownTaskstats raw = { .version = 16 };

        thread_sample_clear(&sample);
        raw.hiwater_rss = UINT64_MAX / 1024 + 1;
        ck_assert_int_eq(taskstats_decode(&raw, 560, &stats), 0);
        taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
        ck_assert(!thread_sample_has(&sample, METRIC_hiwater_vm_bytes));
        ck_assert_uint_eq(thread_sample_get(&sample, METRIC_hiwater_rss_bytes), UINT64_MAX);
        /* A count of zero is one. */
        ck_assert_uint_eq(thread_sample_get(&sample, METRIC_blkio_delay_count), 0);
        ck_assert_uint_eq(thread_sample_get(&sample, METRIC_acct_rss_mb_us), 0);
}
END_TEST

START_TEST(one_count_of_seven_tells_that_a_task_is_accounted) {
        static const size_t counts[] = {
                offsetof(GrownTaskstats, blkio),     offsetof(GrownTaskstats, swapin),
                offsetof(GrownTaskstats, freepages), offsetof(GrownTaskstats, thrashing),
                offsetof(GrownTaskstats, compact),   offsetof(GrownTaskstats, wpcopy),
                offsetof(GrownTaskstats, irq),
        };
        GrownTaskstats raw = { .version = 17, .cpu = { 5, 6 }, .of_cpu = { 7, 8 } };
        Taskstats stats;

        ck_assert_int_eq(taskstats_decode(&raw, sizeof(raw), &stats), 0);
        ck_assert(!taskstats_has_delays(&stats));
        memcpy((char *) &raw + counts[_i], &(uint64_t){ 1 }, 8);
        ck_assert_int_eq(taskstats_decode(&raw, sizeof(raw), &stats), 0);
        ck_assert(taskstats_has_delays(&stats));
        /* A member after the end of the received bytes does not count. */
        ck_assert_int_eq(taskstats_decode(&raw, counts[_i], &stats), 0);
        ck_assert(!taskstats_has_delays(&stats));
}
END_TEST

static const char *const fixture_rows[] = {
        "6.1.0-56-cloud-amd64/taskstats-pid1",
        "6.1.0-56-cloud-amd64/taskstats-self",
        "6.1.0-56-cloud-amd64/taskstats-svc",
        "6.12.117+deb13-cloud-amd64/taskstats-pid1",
        "6.12.117+deb13-cloud-amd64/taskstats-self",
        "6.12.117+deb13-cloud-amd64/taskstats-svc",
        "7.2.12+deb13-cloud-amd64-scx-loaded/taskstats-pid1",
        "7.2.12+deb13-cloud-amd64-scx-loaded/taskstats-self",
        "7.2.12+deb13-cloud-amd64-scx-loaded/taskstats-svc",
};

static size_t read_fixture(const char *name, const char *suffix, char *bytes, size_t n) {
        char path[512];
        FILE *file;

        ck_assert_int_lt(
                snprintf(path, sizeof(path), TESTS_DIR "/fixtures/taskstats/%s%s", name, suffix),
                (int) sizeof(path));
        file = fopen(path, "re");
        ck_assert_msg(file != NULL, "%s", path);
        n = fread(bytes, 1, n, file);
        fclose(file);
        return n;
}

/* "key number" lines beside the payload, printed by another program on that kernel. */
static uint64_t expected_value(const char *text, const char *key) {
        unsigned long long value;
        char line[64];
        const char *at;

        snprintf(line, sizeof(line), "\n%s ", key);
        at = strstr(text, line);
        ck_assert_msg(at != NULL, "%s", key);
        ck_assert_int_eq(sscanf(at + strlen(line), "%llu", &value), 1);
        return value;
}

START_TEST(payloads_of_real_kernels_read_as_their_kernels_said) {
        static const struct {
                const char *key;
                MetricId metric;
        } rows[] = {
                { "cpu_count", METRIC_cpu_delay_count },
                { "cpu_count", METRIC_timeslices },
                { "cpu_delay_total", METRIC_cpu_delay_total_ns },
                { "cpu_delay_total", METRIC_wait_time_ns },
                { "blkio_count", METRIC_blkio_delay_count },
                { "blkio_delay_total", METRIC_blkio_delay_total_ns },
                { "cpu_run_real_total", METRIC_acct_run_real_ns },
                { "cpu_run_virtual_total", METRIC_acct_run_virtual_ns },
                { "cpu_run_virtual_total", METRIC_run_time_ns },
                { "nvcsw", METRIC_voluntary_csw },
                { "nivcsw", METRIC_nonvoluntary_csw },
        };
        char payload[1024], text[4096] = "";
        ThreadSample sample;
        Taskstats stats;
        uint64_t tid;
        size_t n = read_fixture(fixture_rows[_i], ".bin", payload, sizeof(payload));

        (void) read_fixture(fixture_rows[_i], ".txt", text, sizeof(text) - 1);
        ck_assert_uint_eq(n, expected_value(text, "taskstats_payload_len"));
        ck_assert_int_eq(taskstats_decode(payload, n, &stats), 0);
        ck_assert_uint_eq(stats.version, expected_value(text, "taskstats_version_kernel"));
        ck_assert(taskstats_get(&stats, TASKSTATS_TID, &tid));
        ck_assert_uint_eq(tid, expected_value(text, "ac_pid"));

        thread_sample_clear(&sample);
        taskstats_put_metrics(&stats, ALL_GROUPS, &sample);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                ck_assert_uint_eq(thread_sample_get(&sample, rows[i].metric),
                                  expected_value(text, rows[i].key));
        ck_assert_int_eq(thread_sample_has(&sample, METRIC_irq_delay_count), stats.version >= 14);
        ck_assert_int_eq(thread_sample_has(&sample, METRIC_cpu_delay_max_ns), stats.version >= 16);
        ck_assert(thread_sample_has(&sample, METRIC_hiwater_vm_bytes));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("taskstats-decode");
        TCase *layouts = tcase_create("layouts");
        TCase *rules = tcase_create("rules");
        TCase *fixtures = tcase_create("fixtures");

        tcase_add_test(layouts, every_metric_of_the_registry_is_covered);
        tcase_add_loop_test(layouts, a_version_has_its_members_where_its_header_put_them, 0,
                            ELEMENTSOF(version_rows));
        tcase_add_loop_test(layouts, members_past_the_length_are_absent, 0,
                            ELEMENTSOF(version_rows));
        tcase_add_loop_test(layouts, members_that_are_no_metrics_are_found, 0,
                            ELEMENTSOF(version_rows));
        tcase_add_loop_test(layouts, the_name_is_where_the_header_put_it, 0,
                            ELEMENTSOF(version_rows));
        tcase_add_test(layouts, a_member_cut_in_half_is_absent);
        tcase_add_test(layouts, bytes_that_a_version_does_not_define_are_not_read);
        tcase_add_test(layouts, what_has_no_version_or_too_old_a_one_is_refused);
        tcase_add_test(layouts, a_struct_aligned_to_four_bytes_is_read);
        tcase_add_loop_test(rules, groups_left_out_leave_their_metrics_absent, 0, 6);
        tcase_add_test(rules, a_watermark_of_zero_is_no_measurement_and_one_too_large_clips);
        tcase_add_loop_test(rules, one_count_of_seven_tells_that_a_task_is_accounted, 0, 7);
        tcase_add_loop_test(fixtures, payloads_of_real_kernels_read_as_their_kernels_said, 0,
                            ELEMENTSOF(fixture_rows));
        suite_add_tcase(suite, layouts);
        suite_add_tcase(suite, rules);
        suite_add_tcase(suite, fixtures);
        return check_main(suite);
}
