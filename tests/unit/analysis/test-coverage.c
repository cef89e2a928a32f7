/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <json-c/json.h>

#include "analysis/account/coverage.h"
#include "json-text.h"
#include "thread.h"

#define NONE UINT64_MAX       /* no value */
#define GONE (UINT64_MAX - 1) /* not in that snapshot */

static ThreadSample ran(uint64_t run_time, uint64_t bytes, char kind) {
        ThreadSample sample = thread_of("p", "t", 1);

        sample.has_kthread = kind != '?';
        sample.kthread = kind == 'k';
        if (run_time < GONE)
                thread_sample_put(&sample, METRIC_run_time_ns, run_time);
        if (bytes < GONE)
                thread_sample_put(&sample, METRIC_write_bytes, bytes);
        return sample;
}

/* @kind: 'u' a user thread, 'k' one of the kernel, '?' not known. */
static void add(Coverage *coverage, char kind, uint64_t before, uint64_t after) {
        ThreadSample earlier = ran(before, before, kind), later = ran(after, after, kind);

        coverage_add(coverage, before == GONE ? NULL : &earlier, after == GONE ? NULL : &later);
}

static const CoverageLedger no_ledger = { .absence = "nobody counts" };

static const char *text_of(const Coverage *coverage, const HostUse *host, Amount bound_ns) {
        const CoverageSpan span = { .bound_ns = bound_ns, .elapsed_ns = amount_of(400) };
        JsonWriter writer;

        coverage_write_json(json_text_begin(&writer), coverage, &no_ledger, host, &span, "why");
        return json_text_end(&writer);
}

START_TEST(each_thread_counts_in_one_part) {
        const HostUse host = { .cpu_used_ns = amount_of(1000),
                               .disk_read_bytes = amount_of(300),
                               .disk_written_bytes = amount_of(400) };
        Coverage coverage = {};

        add(&coverage, 'u', 100, 150);  /* survived: 50 */
        add(&coverage, '?', 10, 17);    /* nobody knows that it is of the kernel: 7 */
        add(&coverage, 'u', GONE, 200); /* born: 200 */
        add(&coverage, 'u', 900, GONE); /* ended: nobody saw its last work */
        add(&coverage, 'k', 20, 50);    /* kernel: 30 */
        add(&coverage, 'k', GONE, 3);   /* kernel, born: 3 */
        add(&coverage, 'u', 100, 40);   /* fell: not known */
        add(&coverage, 'u', NONE, 40);  /* not known */
        ck_assert_str_eq(text_of(&coverage, &host, amount_of(9)),
                         "{\"cpuUsedNs\":1000,\"attributedNs\":290,\"survivedNs\":57,"
                         "\"bornNs\":200,\"endedNs\":null,\"bornAndEndedNs\":null,"
                         "\"endedReason\":\"nobody counts\","
                         "\"kernelThreadsNs\":33,\"ownNs\":0,\"notAttributedNs\":710,\"boundNs\":9,"
                         "\"storageUsedBytes\":700,\"storageAttributedBytes\":290}");
}
END_TEST

START_TEST(what_nobody_measured_is_not_zero) {
        const HostUse nothing = {};
        Coverage coverage = {};

        ck_assert_str_eq(
                text_of(&coverage, &nothing, (Amount){ .known = false }),
                "{\"cpuUsedNs\":null,\"attributedNs\":0,\"survivedNs\":0,"
                "\"bornNs\":0,\"endedNs\":null,\"bornAndEndedNs\":null,"
                "\"endedReason\":\"nobody counts\","
                "\"kernelThreadsNs\":0,\"ownNs\":0,\"notAttributedNs\":null,\"boundNs\":null,"
                "\"storageUsedBytes\":null,\"storageAttributedBytes\":0}");
        add(&coverage, 'u', NONE, NONE);
        add(&coverage, 'u', GONE, NONE);
        add(&coverage, 'k', GONE, NONE);
        ck_assert_str_eq(
                text_of(&coverage, &nothing, (Amount){ .known = false }),
                "{\"cpuUsedNs\":null,\"attributedNs\":null,\"survivedNs\":null,"
                "\"bornNs\":null,\"endedNs\":null,\"bornAndEndedNs\":null,"
                "\"endedReason\":\"nobody counts\","
                "\"kernelThreadsNs\":null,\"ownNs\":0,\"notAttributedNs\":null,\"boundNs\":null,"
                "\"storageUsedBytes\":null,\"storageAttributedBytes\":null,"
                "\"reason\":\"why\"}");
}
END_TEST

/* That none was born is known, but it is not what the host's CPUs were used for. */
START_TEST(parts_without_threads_are_no_account_of_the_others) {
        const HostUse host = { .cpu_used_ns = amount_of(1000) };
        Coverage coverage = {};

        add(&coverage, 'u', NONE, NONE);
        add(&coverage, 'k', NONE, NONE);
        ck_assert_str_eq(
                text_of(&coverage, &host, amount_of(9)),
                "{\"cpuUsedNs\":1000,\"attributedNs\":null,\"survivedNs\":null,"
                "\"bornNs\":0,\"endedNs\":null,\"bornAndEndedNs\":null,"
                "\"endedReason\":\"nobody counts\","
                "\"kernelThreadsNs\":null,\"ownNs\":0,\"notAttributedNs\":null,\"boundNs\":9,"
                "\"storageUsedBytes\":null,\"storageAttributedBytes\":null,"
                "\"reason\":\"why\"}");
}
END_TEST

START_TEST(the_bound_is_two_ticks_and_the_captures_on_each_cpu) {
        Head before = { .has_user_hz = true,
                        .user_hz = 100,
                        .has_start_boottime = true,
                        .start_boottime_ns = 1000,
                        .has_end_boottime = true,
                        .end_boottime_ns = 5000 };
        Head after = before;
        const Head *const heads[SIDES] = { &before, &after };
        const HostUse host = { .n_cpus = amount_of(3) }, nothing = {};

        after.start_boottime_ns = 90000;
        after.end_boottime_ns = 90007;
        /* 3 x (2 x 10 ms + 4,000 + 7) */
        ck_assert_uint_eq(coverage_span_of(&host, heads).bound_ns.n, 60012021);
        ck_assert_uint_eq(coverage_span_of(&host, heads).elapsed_ns.n, 89000);
        ck_assert(!coverage_span_of(&nothing, heads).bound_ns.known);
        after.has_end_boottime = false;
        ck_assert(!coverage_span_of(&host, heads).bound_ns.known);
}
END_TEST

/* A row of a ledger: run time and written bytes of its threads, and of the young of them. */
static void add_exited(Coverage *coverage, Side end, char kind, uint64_t run_time, uint64_t bytes,
                       uint64_t young) {
        ExitedRow row = { .exits = 1, .sample = ran(run_time, bytes, kind), .young_run_ns = young };

        thread_sample_put(&row.sample, METRIC_read_bytes, 0);
        coverage_add_exited(coverage, end, &row);
}

static const CoverageLedger in_a_row = { .known = true, .in_a_row = true };
static const CoverageLedger with_gap = { .known = true };

static json_object *json_of(const Coverage *coverage, const CoverageLedger *ledger) {
        const HostUse host = { .cpu_used_ns = amount_of(1000) };
        const CoverageSpan span = { .bound_ns = amount_of(9) };
        JsonWriter writer;

        coverage_write_json(json_text_begin(&writer), coverage, ledger, &host, &span, "why");
        return json_tokener_parse(json_text_end(&writer));
}

static const char *at(json_object *json, const char *key) {
        json_object *value;

        if (!json_object_object_get_ex(json, key, &value))
                return "";
        return value ? json_object_to_json_string(value) : "null";
}

/*
 * One survivor ran for 50 of an interval of 400, so that one CPU had 400; at 5 the difference is
 * what ticks may miss of two captures.
 */
static const struct {
        uint64_t used_ns, survived_ns, exited_ns, n_cpus;
        const char *believed; /* "": it is not told */
} believed_rows[] = {
        { 60, 50, 0, 1, "" },        { 45, 50, 0, 1, "" },   { 44, 50, 0, 1, "50" },
        { 0, 50, 0, 0, "50" },       { 45, 50, 3, 2, "53" }, /* what ended is believed, too */
        { 100, 500, 0, 1, "400" },                           /* no CPU has more */
        { 399, 350, 100, 1, "400" },                         /* likewise */
        { 400, 500, 0, 1, "" },                              /* all of them were used */
        { 700, 810, 0, 2, "800" },
};

START_TEST(threads_are_believed_over_ticks) {
        uint64_t exited_ns = believed_rows[_i].exited_ns,
                 survived_ns = believed_rows[_i].survived_ns;
        const HostUse host = { .cpu_used_ns = amount_of(believed_rows[_i].used_ns),
                               .n_cpus = { .known = believed_rows[_i].n_cpus > 0,
                                           .n = believed_rows[_i].n_cpus } };
        const CoverageSpan span = { .bound_ns = amount_of(5), .elapsed_ns = amount_of(400) };
        Coverage coverage = {};
        json_object *json;
        JsonWriter writer;

        add(&coverage, 'u', 100, 100 + survived_ns);
        add_exited(&coverage, SIDE_AFTER, 'u', exited_ns, 0, exited_ns);
        coverage_write_json(json_text_begin(&writer), &coverage, &in_a_row, &host, &span, "why");
        json = json_tokener_parse(json_text_end(&writer));
        ck_assert_str_eq(at(json, "cpuBelievedNs"), believed_rows[_i].believed);
        ck_assert_uint_eq(json_object_get_uint64(json_object_object_get(json, "cpuUsedNs")),
                          host.cpu_used_ns.n);
        ck_assert_uint_eq(json_object_get_uint64(json_object_object_get(json, "attributedNs")),
                          survived_ns + exited_ns);
        if (survived_ns + exited_ns > host.cpu_used_ns.n)
                ck_assert_str_eq(at(json, "notAttributedNs"), "0");
        json_object_put(json);
}
END_TEST

START_TEST(a_ledger_tells_of_the_ended) {
        const struct {
                const CoverageLedger *ledger;
                const char *exact;
        } ledgers[] = { { &in_a_row, "true" }, { &with_gap, "false" } };
        Coverage coverage = {};

        add(&coverage, 'u', 100, 150);
        add(&coverage, 'u', 90, GONE); /* ended with 95 */
        add(&coverage, 'k', 20, GONE); /* ended with 21 */
        add_exited(&coverage, SIDE_AFTER, 'u', 1000 + 95 + 300, 1200, 500 + 300);
        add_exited(&coverage, SIDE_BEFORE, 'u', 1000, 700, 500);
        add_exited(&coverage, SIDE_AFTER, 'k', 21, 20, 0);
        for (size_t i = 0; i < ELEMENTSOF(ledgers); i++) {
                json_object *json = json_of(&coverage, ledgers[i].ledger);

                ck_assert_str_eq(at(json, "survivedNs"), "50");
                ck_assert_str_eq(at(json, "endedNs"), "5");
                ck_assert_str_eq(at(json, "bornAndEndedNs"), "300");
                ck_assert_str_eq(at(json, "endedExact"), ledgers[i].exact);
                ck_assert_str_eq(at(json, "endedReason"), "");
                ck_assert_str_eq(at(json, "kernelThreadsNs"), "1");
                ck_assert_str_eq(at(json, "attributedNs"), "356");
                ck_assert_str_eq(at(json, "notAttributedNs"), "644");
                json_object_put(json);
        }
        ck_assert(!coverage_waiting_ns(&coverage, &in_a_row).known);
}
END_TEST

/* A process is ctprof's own from when it calls until it has ended. */
START_TEST(what_ctprof_did_itself_is_told_apart) {
        ThreadSample before = ran(100, 0, 'u'), after = ran(150, 0, 'u');
        ExitedRow row = { .exits = 1, .sample = ran(30, 0, 'u') };
        Coverage coverage = {};
        json_object *json;

        add(&coverage, 'u', 0, 1000);
        before.self = true;
        coverage_add(&coverage, &before, &after);
        row.sample.self = true;
        coverage_add_exited(&coverage, SIDE_AFTER, &row);
        json = json_of(&coverage, &in_a_row);
        ck_assert_str_eq(at(json, "ownNs"), "80");
        ck_assert_str_eq(at(json, "attributedNs"), "1080");
        json_object_put(json);

        json = json_of(&coverage, &no_ledger);
        ck_assert_str_eq(at(json, "ownNs"), "50");
        json_object_put(json);
        before = ran(UINT64_MAX, 0, 'u');
        before.self = true;
        coverage = (Coverage){};
        coverage_add(&coverage, &before, &after);
        json = json_of(&coverage, &no_ledger);
        ck_assert_str_eq(at(json, "ownNs"), "null");
        json_object_put(json);
}
END_TEST

/*
 * Vanished threads was born while the earlier capture was made, which saw 5 of its 7. The ledger
 * has all of it as work of one that was born inside, and takes nothing else away.
 */
START_TEST(one_that_was_born_during_the_capture_hides_no_other) {
        Coverage coverage = {};
        json_object *json;

        add(&coverage, 'u', 100, 150);
        add(&coverage, 'u', 5, GONE);
        add_exited(&coverage, SIDE_AFTER, 'u', 7 + 300, 1200, 7 + 300);
        json = json_of(&coverage, &in_a_row);
        ck_assert_str_eq(at(json, "endedNs"), "0");
        ck_assert_str_eq(at(json, "bornAndEndedNs"), "302");
        ck_assert_str_eq(at(json, "endedExact"), "false");
        ck_assert_str_eq(at(json, "attributedNs"), "352");
        json_object_put(json);
}
END_TEST

/* 50 written by the survivor; of the ended vanished threads has no count of what it read. */
START_TEST(storage_of_the_ended_counts_if_it_is_complete) {
        Coverage coverage = {}, other = {};
        json_object *json;

        add(&coverage, 'u', 100, 150);
        add_exited(&coverage, SIDE_AFTER, 'u', 5, 700, 5);
        json = json_of(&coverage, &in_a_row);
        ck_assert_str_eq(at(json, "storageAttributedBytes"), "750");
        json_object_put(json);

        add(&other, 'u', 100, 150);
        add(&other, 'u', 90, GONE);
        add_exited(&other, SIDE_AFTER, 'u', 95, 700, 0);
        json = json_of(&other, &in_a_row);
        ck_assert_str_eq(at(json, "storageAttributedBytes"), "50");
        json_object_put(json);
}
END_TEST

START_TEST(a_ledger_that_contradicts_the_threads_tells_nothing) {
        Coverage coverage = {}, lacking = {};
        json_object *json;

        add(&coverage, 'u', 90, GONE);
        add_exited(&coverage, SIDE_AFTER, 'u', 30, 0, 0); /* less than it had */
        json = json_of(&coverage, &in_a_row);
        ck_assert_str_eq(at(json, "endedNs"), "null");
        ck_assert_str_eq(at(json, "bornAndEndedNs"), "null");
        ck_assert_str_ne(at(json, "endedReason"), "");
        json_object_put(json);

        add(&lacking, 'u', NONE, GONE);
        add_exited(&lacking, SIDE_AFTER, 'u', 30, 0, 0);
        json = json_of(&lacking, &in_a_row);
        ck_assert_str_eq(at(json, "endedNs"), "null");
        json_object_put(json);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("coverage");
        TCase *parts = tcase_create("parts");

        tcase_add_test(parts, each_thread_counts_in_one_part);
        tcase_add_test(parts, what_nobody_measured_is_not_zero);
        tcase_add_test(parts, parts_without_threads_are_no_account_of_the_others);
        tcase_add_loop_test(parts, threads_are_believed_over_ticks, 0, ELEMENTSOF(believed_rows));
        tcase_add_test(parts, a_ledger_tells_of_the_ended);
        tcase_add_test(parts, one_that_was_born_during_the_capture_hides_no_other);
        tcase_add_test(parts, what_ctprof_did_itself_is_told_apart);
        tcase_add_test(parts, storage_of_the_ended_counts_if_it_is_complete);
        tcase_add_test(parts, a_ledger_that_contradicts_the_threads_tells_nothing);
        tcase_add_test(parts, the_bound_is_two_ticks_and_the_captures_on_each_cpu);
        suite_add_tcase(suite, parts);
        return check_main(suite);
}
