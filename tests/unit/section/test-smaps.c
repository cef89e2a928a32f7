/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/smaps.h"

#include "check-main.h"

static void add(Smaps *smaps, KeyTree *names, unsigned side, const char *process,
                const char *json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";

        ck_assert_int_eq(smaps_add(smaps, side, span_of(process), span_of(json), names, complaint),
                         0);
}

static Reading get(Smaps *smaps, const char *process, unsigned side, const char *key) {
        for (KeyNode *node = smaps->processes.first; node; node = node->next)
                if (span_is(node->key, process))
                        return count_map_get(&smaps_entry(node)->sides[side], span_of(key));
        return (Reading){};
}

START_TEST(processes_of_one_name_add_up_in_bytes) {
        KeyTree names = {};
        Smaps smaps = {};

        add(&smaps, &names, 0, "a", "{\"Rss\":1,\"Swap\":2}");
        add(&smaps, &names, 0, "a", "{\"Rss\":3,\"Pss\":4}");
        add(&smaps, &names, 1, "a", "{\"Rss\":18446744073709551615}");
        ck_assert(reading_equal(get(&smaps, "a", 0, "Rss"), READING(4096)));
        ck_assert(reading_equal(get(&smaps, "a", 0, "Pss"), READING(4096)));
        ck_assert(reading_equal(get(&smaps, "a", 0, "Swap"), READING(2048)));
        ck_assert(reading_equal(get(&smaps, "a", 1, "Rss"), READING(UINT64_MAX)));
        ck_assert(reading_equal(get(&smaps, "a", 1, "Pss"), (Reading){}));
        smaps_done(&smaps);
        key_tree_done(&names, NULL);
}
END_TEST

/* @kib of anonymous memory; nothing else. */
static void add_counts(Smaps *smaps, KeyTree *names, unsigned side, const char *process,
                       uint64_t kib, SmapsGap gap) {
        ThreadSample sample;

        thread_sample_clear(&sample);
        sample.pcomm = span_of(process);
        thread_sample_put(&sample, METRIC_rss_anon_bytes, kib * 1024);
        thread_sample_put(&sample, METRIC_rss_file_bytes, 0);
        thread_sample_put(&sample, METRIC_rss_shmem_bytes, 0);
        thread_sample_put(&sample, METRIC_swap_bytes, 0);
        ck_assert_int_eq(smaps_add_counts(smaps, side, &sample, gap, names), 0);
}

/* Of the larger one, which the sum lacks. */
static const struct {
        SmapsGap gap;
        SmapsCount expected;
} gap_rows[] = {
        { SMAPS_GAP_SIZE,
          { .n_counted = 2, .n_rolled_up = 1, .n_left_out = 1, .left_out_bytes = 9 * 1024 } },
        { SMAPS_GAP_UNASKED, { .n_counted = 2, .n_rolled_up = 1, .n_unasked = 1 } },
};

START_TEST(a_rollup_that_lacks_a_process_is_absent) {
        KeyTree names = {};
        Smaps smaps = {};

        add(&smaps, &names, 0, "a", "{\"Pss\":1,\"Rss\":1}");
        add_counts(&smaps, &names, 0, "a", 1, SMAPS_GAP_NONE);
        add_counts(&smaps, &names, 0, "a", 9, gap_rows[_i].gap);
        add(&smaps, &names, 1, "a", "{\"Pss\":1,\"Rss\":1}");
        add_counts(&smaps, &names, 1, "a", 1, SMAPS_GAP_NONE);
        ck_assert_int_eq(smaps_order(&smaps, 1, &names), 0);
        ck_assert_mem_eq(&smaps_entry(smaps.processes.first)->counts[0], &gap_rows[_i].expected,
                         sizeof(SmapsCount));
        ck_assert(reading_equal(get(&smaps, "a", 0, "Pss"), (Reading){}));
        ck_assert(reading_equal(get(&smaps, "a", 0, "Rss"), (Reading){}));
        ck_assert(reading_equal(get(&smaps, "a", 0, "rss_anon_bytes"), READING(10240)));
        ck_assert(reading_equal(get(&smaps, "a", 1, "Pss"), READING(1024)));
        ck_assert(reading_equal(get(&smaps, "a", 1, "rss_anon_bytes"), READING(1024)));
        smaps_done(&smaps);
        key_tree_done(&names, NULL);
}
END_TEST

START_TEST(a_thread_without_counts_is_no_process) {
        ThreadSample sample;
        KeyTree names = {};
        Smaps smaps = {};

        thread_sample_clear(&sample);
        sample.pcomm = SPAN_LITERAL("a");
        ck_assert_int_eq(smaps_add_counts(&smaps, 0, &sample, SMAPS_GAP_NONE, &names), 0);
        ck_assert_uint_eq(smaps.processes.n, 0);
        smaps_done(&smaps);
        key_tree_done(&names, NULL);
}
END_TEST

START_TEST(a_large_process_keeps_its_place_without_a_rollup) {
        KeyTree names = {};
        Smaps smaps = {};

        add(&smaps, &names, 0, "small", "{\"Pss\":1,\"Rss\":1}");
        add_counts(&smaps, &names, 0, "small", 1, SMAPS_GAP_NONE);
        add_counts(&smaps, &names, 0, "large", 9, SMAPS_GAP_SIZE);
        ck_assert_int_eq(smaps_order(&smaps, 1, &names), 0);
        ck_assert(span_is(smaps.list[0]->key, "large"));
        smaps_done(&smaps);
        key_tree_done(&names, NULL);
}
END_TEST

static int first_letter(void *userdata, Span name, Span *ret) {
        *ret = (Span){ name.bytes, 1 };
        return 0;
}

static int refuse(void *userdata, Span name, Span *ret) {
        return -ENOMEM;
}

START_TEST(names_are_put_under_their_keys) {
        KeyTree names = {};
        Smaps smaps = {};

        add(&smaps, &names, 0, "a1", "{\"Rss\":1}");
        add(&smaps, &names, 0, "a2", "{\"Rss\":2}");
        add(&smaps, &names, 1, "a3", "{\"Rss\":4}");
        add(&smaps, &names, 1, "b", "{\"Rss\":8}");
        ck_assert_int_eq(smaps_regroup(&smaps, refuse, NULL), -ENOMEM);
        ck_assert_uint_eq(smaps.processes.n, 4);
        ck_assert_int_eq(smaps_regroup(&smaps, first_letter, NULL), 0);
        ck_assert_uint_eq(smaps.processes.n, 2);
        ck_assert(reading_equal(get(&smaps, "a", 0, "Rss"), READING(3072)));
        ck_assert(reading_equal(get(&smaps, "a", 1, "Rss"), READING(4096)));
        ck_assert(reading_equal(get(&smaps, "b", 0, "Rss"), (Reading){}));
        smaps_done(&smaps);
        key_tree_done(&names, NULL);
}
END_TEST

static const struct {
        unsigned n_sides;
        const char *order;
} order_rows[] = {
        { 1, "dbca" },  /* Rss, Pss, name */
        { 2, "edabc" }, /* distance, larger Rss, name */
};

START_TEST(the_largest_comes_first) {
        KeyTree names = {};
        Smaps smaps = {};

        add(&smaps, &names, 0, "d", "{\"Rss\":100,\"Pss\":1}");
        add(&smaps, &names, 0, "c", "{\"Rss\":50,\"Pss\":1}");
        add(&smaps, &names, 0, "b", "{\"Rss\":50,\"Pss\":1}");
        add(&smaps, &names, 0, "a", "{\"Rss\":50}");
        if (order_rows[_i].n_sides > 1) {
                add(&smaps, &names, 1, "d", "{\"Rss\":90}");
                add(&smaps, &names, 1, "c", "{\"Rss\":50}");
                add(&smaps, &names, 1, "b", "{\"Rss\":50}");
                add(&smaps, &names, 1, "a", "{\"Rss\":55}");
                add(&smaps, &names, 1, "e", "{\"Rss\":11}"); /* new */
        }
        ck_assert_int_eq(smaps_order(&smaps, order_rows[_i].n_sides, &names), 0);
        ck_assert_uint_eq(smaps.processes.n, strlen(order_rows[_i].order));
        for (size_t i = 0; i < smaps.processes.n; i++)
                ck_assert_int_eq(smaps.list[i]->key.bytes[0], order_rows[_i].order[i]);
        smaps_done(&smaps);
        key_tree_done(&names, NULL);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("smaps");
        TCase *processes = tcase_create("processes");

        tcase_add_test(processes, processes_of_one_name_add_up_in_bytes);
        tcase_add_loop_test(processes, a_rollup_that_lacks_a_process_is_absent, 0,
                            ELEMENTSOF(gap_rows));
        tcase_add_test(processes, a_thread_without_counts_is_no_process);
        tcase_add_test(processes, a_large_process_keeps_its_place_without_a_rollup);
        tcase_add_test(processes, names_are_put_under_their_keys);
        tcase_add_loop_test(processes, the_largest_comes_first, 0, ELEMENTSOF(order_rows));
        suite_add_tcase(suite, processes);
        return check_main(suite);
}
