/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/limit-tally.h"

#include "check-main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/limits.h"

#define UNKNOWN ((Amount){ .known = false })

static LimitTally tally;

static void setup(void) {
        tally = (LimitTally){};
}

static void teardown(void) {
        key_tree_done(&tally.cgroups, NULL);
}

static void add(Side side, const char *path, const char *json) {
        int r = limit_tally_add(&tally, side, span_of(path), span_of(json));

        ck_assert_msg(r == 0, "%s", tally.complaint);
}

static void add_throttled(Side side, const char *path, unsigned periods, unsigned usec) {
        char json[128];

        (void) snprintf(json, sizeof(json),
                        "{\"cpu\":{\"usage_usec\":9,\"nr_throttled\":%u,\"throttled_usec\":%u},"
                        "\"memory\":null}",
                        periods, usec);
        add(side, path, json);
}

static void add_events(Side side, const char *path, unsigned high, unsigned max, unsigned killed) {
        char json[160];

        (void) snprintf(json, sizeof(json),
                        "{\"cpu\":null,\"memory\":{\"max\":4096,\"events\":{\"low\":7,\"high\":%u,"
                        "\"max\":%u,\"oom\":5,\"oom_kill\":%u}}}",
                        high, max, killed);
        add(side, path, json);
}

static void check(Amount host_oom_kills, const char *wanted) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        ck_assert_int_eq(limit_tally_write_json(&tally, host_oom_kills, &writer), 0);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        ck_assert_str_eq(text.bytes, wanted);
        buffer_done(&text);
}

#define LINE(cgroup, what, count, ns) \
        "{\"cgroup\":\"" cgroup "\",\"what\":\"" what "\",\"count\":" count ",\"ns\":" ns "}"

/* The same of several entries; NULL ends them. */
static void check_lines(Amount host_oom_kills, const char *const *lines) {
        char wanted[1024];
        size_t n = 0;

        for (size_t i = 0; lines[i]; i++)
                n += (size_t) snprintf(wanted + n, sizeof(wanted) - n, "%c%s", i > 0 ? ',' : '[',
                                       lines[i]);
        (void) snprintf(wanted + n, sizeof(wanted) - n, "]");
        check(host_oom_kills, wanted);
}

START_TEST(what_was_throttled_inside_is_the_difference) {
        add_throttled(SIDE_BEFORE, "/a", 10, 500);
        add_throttled(SIDE_AFTER, "/a", 13, 1700);
        add_throttled(SIDE_BEFORE, "/quiet", 10, 500);
        add_throttled(SIDE_AFTER, "/quiet", 10, 500);
        check(UNKNOWN, "[" LINE("/a", "cpu.max", "3", "1200000") "]");
}
END_TEST

/* It may be as old as the host: what has no threads is not recorded. */
START_TEST(a_cgroup_that_was_not_recorded_before_says_nothing) {
        add_throttled(SIDE_BEFORE, "/other", 0, 0);
        add_throttled(SIDE_AFTER, "/new", 2, 30);
        add_events(SIDE_AFTER, "/new/below", 3, 3, 3);
        check(UNKNOWN, "[]");
        check(amount_of(1), "[" LINE("", "oom_kill", "1", "null") "]");
}
END_TEST

START_TEST(events_of_a_cgroup_that_was_not_recorded_before_are_told_of_the_one_above) {
        add_events(SIDE_BEFORE, "/p", 0, 0, 1);
        add_events(SIDE_AFTER, "/p", 0, 0, 3);
        add_events(SIDE_AFTER, "/p/new", 0, 0, 9);
        check_lines(amount_of(3), (const char *const[]){ LINE("/p", "oom_kill", "2", "null"),
                                                         LINE("", "oom_kill", "1", "null"), NULL });
}
END_TEST

START_TEST(a_cgroup_that_is_gone_says_nothing) {
        add_throttled(SIDE_BEFORE, "/gone", 5, 50);
        add_throttled(SIDE_AFTER, "/other", 0, 0);
        check(UNKNOWN, "[]");
}
END_TEST

START_TEST(a_counter_that_fell_says_nothing) {
        add_throttled(SIDE_BEFORE, "/a", 10, 500);
        add_throttled(SIDE_AFTER, "/a", 3, 900);
        add_events(SIDE_BEFORE, "/b", 9, 9, 9);
        add_events(SIDE_AFTER, "/b", 8, 8, 8);
        check(UNKNOWN, "[" LINE("/a", "cpu.max", "null", "400000") "]");
}
END_TEST

START_TEST(what_was_not_recorded_before_is_no_rise) {
        add(SIDE_BEFORE, "/a", "{\"cpu\":null,\"memory\":{\"events\":null}}");
        add(SIDE_AFTER, "/a",
            "{\"cpu\":{\"nr_throttled\":4,\"throttled_usec\":5},"
            "\"memory\":{\"events\":{\"max\":3,\"oom_kill\":null}}}");
        check(UNKNOWN, "[]");
}
END_TEST

/* /p counted 5 of its own 9; /p/q only what /p/q/r and /p/q/s did; "/" has no events of its own. */
START_TEST(a_cgroup_that_those_below_explain_is_left_out) {
        static const char *const paths[] = { "/", "/p", "/p/q", "/p/q/r", "/p/q/s" };
        static const unsigned max[] = { 9, 9, 4, 3, 1 };

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                add_events(SIDE_BEFORE, paths[i], 0, 100, 0);
                add_events(SIDE_AFTER, paths[i], 0, 100 + max[i], 0);
        }
        check_lines(UNKNOWN,
                    (const char *const[]){ LINE("/p", "memory.max", "9", "null"),
                                           LINE("/p/q/r", "memory.max", "3", "null"),
                                           LINE("/p/q/s", "memory.max", "1", "null"), NULL });
}
END_TEST

/* "/p/q" was not recorded; "/px" is not below "/p". */
START_TEST(the_next_cgroup_above_may_be_further_up) {
        add_events(SIDE_BEFORE, "/p", 0, 0, 0);
        add_events(SIDE_AFTER, "/p", 0, 2, 0);
        add_events(SIDE_BEFORE, "/px", 0, 0, 0);
        add_events(SIDE_AFTER, "/px", 0, 1, 0);
        add_events(SIDE_BEFORE, "/p/q/r", 0, 0, 0);
        add_events(SIDE_AFTER, "/p/q/r", 0, 2, 0);
        check_lines(UNKNOWN, (const char *const[]){ LINE("/p/q/r", "memory.max", "2", "null"),
                                                    LINE("/px", "memory.max", "1", "null"), NULL });
}
END_TEST

START_TEST(throttling_is_of_the_cgroup_itself) {
        add_throttled(SIDE_BEFORE, "/p", 0, 0);
        add_throttled(SIDE_AFTER, "/p", 1, 8);
        add_throttled(SIDE_BEFORE, "/p/q", 0, 0);
        add_throttled(SIDE_AFTER, "/p/q", 1, 9);
        check_lines(UNKNOWN, (const char *const[]){ LINE("/p/q", "cpu.max", "1", "9000"),
                                                    LINE("/p", "cpu.max", "1", "8000"), NULL });
}
END_TEST

START_TEST(the_heaviest_come_first) {
        add_throttled(SIDE_BEFORE, "/a", 0, 0);
        add_throttled(SIDE_AFTER, "/a", 90, 5);
        add_throttled(SIDE_BEFORE, "/b", 0, 0);
        add_throttled(SIDE_AFTER, "/b", 1, 6);
        add_events(SIDE_BEFORE, "/c", 0, 0, 0);
        add_events(SIDE_AFTER, "/c", 1000, 20, 1);
        add_events(SIDE_BEFORE, "/d", 0, 0, 0);
        add_events(SIDE_AFTER, "/d", 0, 21, 0);
        check_lines(amount_of(3),
                    (const char *const[]){
                            LINE("", "oom_kill", "2", "null"), LINE("/c", "oom_kill", "1", "null"),
                            LINE("/b", "cpu.max", "1", "6000"), LINE("/a", "cpu.max", "90", "5000"),
                            LINE("/d", "memory.max", "21", "null"),
                            LINE("/c", "memory.max", "20", "null"),
                            LINE("/c", "memory.high", "1000", "null"), NULL });
}
END_TEST

static void add_killed(const char *path, unsigned killed) {
        add_events(SIDE_BEFORE, path, 0, 0, 7);
        add_events(SIDE_AFTER, path, 0, 0, 7 + killed);
}

/* The host counts every kill, and so do all cgroups above. */
START_TEST(a_kill_is_told_once_with_its_cgroup) {
        add_killed("/", 0);
        add_killed("/a", 1);
        add_killed("/a/b", 1);
        add_killed("/c", 2);
        check_lines(amount_of(3),
                    (const char *const[]){ LINE("/c", "oom_kill", "2", "null"),
                                           LINE("/a/b", "oom_kill", "1", "null"), NULL });
        check_lines(amount_of(5),
                    (const char *const[]){ LINE("", "oom_kill", "2", "null"),
                                           LINE("/c", "oom_kill", "2", "null"),
                                           LINE("/a/b", "oom_kill", "1", "null"), NULL });
        /* the cgroups were read a little later than the host */
        check_lines(amount_of(2),
                    (const char *const[]){ LINE("/c", "oom_kill", "2", "null"),
                                           LINE("/a/b", "oom_kill", "1", "null"), NULL });
}
END_TEST

/* /a had a cgroup that is gone, with one kill; /a/b has the other two. */
START_TEST(a_kill_in_a_cgroup_that_is_gone_is_in_the_one_above) {
        add_killed("/a", 3);
        add_killed("/a/b", 2);
        check_lines(amount_of(3),
                    (const char *const[]){ LINE("/a", "oom_kill", "3", "null"),
                                           LINE("/a/b", "oom_kill", "2", "null"), NULL });
}
END_TEST

START_TEST(no_more_than_the_heaviest_are_written) {
        Buffer text;
        JsonWriter writer;
        unsigned n = 0;

        for (unsigned i = 0; i < LIMIT_TALLY_MAX_WRITTEN + 3; i++) {
                char path[16];

                (void) snprintf(path, sizeof(path), "/%u", i);
                add_throttled(SIDE_BEFORE, path, 0, 0);
                add_throttled(SIDE_AFTER, path, 1, i + 1);
        }
        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        ck_assert_int_eq(limit_tally_write_json(&tally, UNKNOWN, &writer), 0);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        for (const char *at = text.bytes; (at = strstr(at, "cgroup")); at++)
                n++;
        ck_assert_uint_eq(n, LIMIT_TALLY_MAX_WRITTEN);
        ck_assert_ptr_nonnull(strstr(text.bytes, "\"/66\""));
        ck_assert_ptr_null(strstr(text.bytes, "\"/2\""));
        buffer_done(&text);
}
END_TEST

#define N_PATH 4000

static void check_is_at_bound(Buffer *text) {
        ck_assert_uint_ge(text->n, LIMIT_BATCH_BYTES);
        ck_assert_uint_lt(text->n, LIMIT_BATCH_BYTES + 6 * N_PATH + 100);
        buffer_clear(text);
}

/* Each byte of a path may take six, and the heads of a reply have other members, too. */
START_TEST(long_paths_are_written_up_to_a_bound) {
        char path[N_PATH + 1];
        JsonWriter writer;
        Buffer text;

        memset(path, '\1', N_PATH);
        path[0] = '/';
        path[N_PATH] = '\0';
        for (unsigned i = 0; i < LIMIT_TALLY_MAX_WRITTEN; i++)
                for (unsigned side = 0; side < SIDES; side++) {
                        char json[96];

                        path[1] = (char) ('!' + i);
                        (void) snprintf(json, sizeof(json),
                                        "{\"memory\":{\"max\":%u,\"events\":{\"max\":%u}}}",
                                        4096u << side, side);
                        add((Side) side, path, json);
                }
        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        ck_assert_int_eq(limit_tally_write_json(&tally, UNKNOWN, &writer), 0);
        check_is_at_bound(&text);
        json_writer_init(&writer, &text);
        json_write_array(&writer);
        ck_assert_int_eq(
                limit_tally_write_changes(&tally, SIDE_BEFORE, &tally, SIDE_AFTER, &writer), 0);
        check_is_at_bound(&text);
        buffer_done(&text);
}
END_TEST

/* Nothing of one snapshot was read: its cgroups were not made inside. */
START_TEST(without_cgroups_on_both_sides_nothing_is_known_of_them) {
        check(UNKNOWN, "null");
        add_throttled(SIDE_AFTER, "/a", 5, 50);
        check(UNKNOWN, "null");
        check(amount_of(0), "[]");
        check(amount_of(1), "[" LINE("", "oom_kill", "1", "null") "]");
}
END_TEST

/* A key of one controller is none of another; pids come last. */
START_TEST(a_limit_of_pids_is_told) {
        add(SIDE_BEFORE, "/a", "{\"pids\":{\"max\":20,\"events\":{\"max\":4,\"high\":1}}}");
        add(SIDE_AFTER, "/a", "{\"pids\":{\"max\":20,\"events\":{\"max\":6,\"high\":3}}}");
        add(SIDE_BEFORE, "/old", "{\"pids\":{\"max\":20}}");
        add(SIDE_AFTER, "/old", "{\"pids\":{\"max\":20,\"events\":null}}");
        add_events(SIDE_BEFORE, "/b", 0, 1, 0);
        add_events(SIDE_AFTER, "/b", 1, 1, 0);
        check_lines(UNKNOWN, (const char *const[]){ LINE("/b", "memory.high", "1", "null"),
                                                    LINE("/a", "pids.max", "2", "null"), NULL });
}
END_TEST

static void check_changes(const char *wanted) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        json_write_array(&writer);
        ck_assert_int_eq(
                limit_tally_write_changes(&tally, SIDE_BEFORE, &tally, SIDE_AFTER, &writer), 0);
        json_write_end(&writer);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        ck_assert_str_eq(text.bytes, wanted);
        buffer_done(&text);
}

#define CHANGE(cgroup, what, before, after)                                                       \
        "{\"cgroup\":\"" cgroup "\",\"what\":\"" what "\",\"before\":" before ",\"after\":" after \
        "}"

// clang-format off
#define SEVEN \
        CHANGE("/web", "cpu.max", "2", "0.5") "," \
        CHANGE("/web", "memory.max", "8192", "4096") "," \
        CHANGE("/web", "pids.max", "\"max\"", "9") "," \
        CHANGE("/web", "cpu.weight", "100", "200") "," \
        CHANGE("/web", "memory.low", "0", "\"max\"") "," \
        CHANGE("/db", "memory.max", "\"max\"", "4096") "," \
        CHANGE("/other", "memory.max", "1000", "9000")
// clang-format on

/* CPU first, then what was unlimited, then what grew or shrank the most. */
START_TEST(limits_that_were_set_anew_are_told) {
        add(SIDE_BEFORE, "/web",
            "{\"cpu\":{\"max_quota_us\":200000,\"max_period_us\":100000,\"weight\":100},"
            "\"memory\":{\"max\":8192,\"low\":0},\"pids\":{\"max\":\"max\"}}");
        add(SIDE_AFTER, "/web",
            "{\"cpu\":{\"max_quota_us\":50000,\"max_period_us\":100000,\"weight\":200},"
            "\"memory\":{\"max\":4096,\"low\":18446744073709551615},\"pids\":{\"max\":9}}");
        add(SIDE_BEFORE, "/db", "{\"memory\":{\"max\":\"max\",\"high\":1}}");
        add(SIDE_AFTER, "/db", "{\"memory\":{\"max\":4096,\"high\":1}}");
        add(SIDE_BEFORE, "/other", "{\"memory\":{\"max\":1000}}");
        add(SIDE_AFTER, "/other", "{\"memory\":{\"max\":9000}}");
        check_changes("[" SEVEN "]");
}
END_TEST

/* Neither has a quota of another period that is as many CPUs. */
START_TEST(what_one_snapshot_does_not_tell_has_not_changed) {
        add(SIDE_BEFORE, "/a", "{\"memory\":{\"max\":null,\"high\":7},\"cpu\":null}");
        add(SIDE_AFTER, "/a", "{\"memory\":{\"max\":5},\"cpu\":{\"weight\":9}}");
        add(SIDE_BEFORE, "/gone", "{\"memory\":{\"max\":5}}");
        add(SIDE_AFTER, "/new", "{\"memory\":{\"max\":5}}");
        add(SIDE_BEFORE, "/b", "{\"cpu\":{\"max_quota_us\":100,\"max_period_us\":1000}}");
        add(SIDE_AFTER, "/b", "{\"cpu\":{\"max_quota_us\":200,\"max_period_us\":2000}}");
        check_changes("[]");
}
END_TEST

START_TEST(a_record_of_another_shape_is_refused) {
        ck_assert_int_eq(limit_tally_add(&tally, SIDE_AFTER, SPAN_LITERAL("/a"),
                                         SPAN_LITERAL("{\"cpu\":[1]}")),
                         -EBADMSG);
        ck_assert_msg(strstr(tally.complaint, "its record of a cgroup: ") == tally.complaint, "%s",
                      tally.complaint);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("limit-tally");
        TCase *t = tcase_create("limit-tally");

        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, what_was_throttled_inside_is_the_difference);
        tcase_add_test(t, a_cgroup_that_was_not_recorded_before_says_nothing);
        tcase_add_test(t,
                       events_of_a_cgroup_that_was_not_recorded_before_are_told_of_the_one_above);
        tcase_add_test(t, a_cgroup_that_is_gone_says_nothing);
        tcase_add_test(t, a_counter_that_fell_says_nothing);
        tcase_add_test(t, what_was_not_recorded_before_is_no_rise);
        tcase_add_test(t, a_cgroup_that_those_below_explain_is_left_out);
        tcase_add_test(t, the_next_cgroup_above_may_be_further_up);
        tcase_add_test(t, throttling_is_of_the_cgroup_itself);
        tcase_add_test(t, the_heaviest_come_first);
        tcase_add_test(t, a_kill_is_told_once_with_its_cgroup);
        tcase_add_test(t, a_kill_in_a_cgroup_that_is_gone_is_in_the_one_above);
        tcase_add_test(t, no_more_than_the_heaviest_are_written);
        tcase_add_test(t, long_paths_are_written_up_to_a_bound);
        tcase_add_test(t, without_cgroups_on_both_sides_nothing_is_known_of_them);
        tcase_add_test(t, a_limit_of_pids_is_told);
        tcase_add_test(t, limits_that_were_set_anew_are_told);
        tcase_add_test(t, what_one_snapshot_does_not_tell_has_not_changed);
        tcase_add_test(t, a_record_of_another_shape_is_refused);
        suite_add_tcase(suite, t);
        return check_main(suite);
}
