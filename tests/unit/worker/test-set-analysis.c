/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <stdio.h>
#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

#define METHOD "io.ctprof.Profiler.CompareSets"
#define N_SIDE 5u
#define MAX_FDS 65u

static const WorkerConfinement confinements[] = { WORKER_FREE, WORKER_CONFINED };

static int fds[MAX_FDS];
static size_t n_fds;
static Conversation answer;

static void setup(void) {
        n_fds = 0;
        answer = (Conversation){ .fd = -EBADF };
}

static void teardown(void) {
        conversation_done(&answer);
        for (size_t i = 0; i < n_fds; i++)
                (void) close(fds[i]);
}

static void add(const FixtureSnapshot *snapshot) {
        ck_assert_uint_lt(n_fds, MAX_FDS);
        fds[n_fds++] = fixture_snapshot(snapshot);
}

/* Asks to compare {"before":[@first refs],"after":[the rest]...}. */
static void ask(size_t n_before, const char *rest, bool more, WorkerConfinement confinement) {
        char text[8192];
        size_t n = 0;

        n += (size_t) snprintf(text, sizeof(text), "{\"before\":[");
        for (size_t i = 0; i < n_fds; i++) {
                if (i == n_before)
                        n += (size_t) snprintf(text + n, sizeof(text) - n, "],\"after\":[");
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s{\"fileDescriptor\":%zu}",
                                       i > 0 && i != n_before ? "," : "", i);
        }
        if (n_before >= n_fds)
                n += (size_t) snprintf(text + n, sizeof(text) - n, "],\"after\":[");
        (void) snprintf(text + n, sizeof(text) - n, "]%s}", rest);
        converse(METHOD, text, more, fds, n_fds, confinement, &answer);
        ck_assert_int_eq(answer.status, 0);
}

/* Asks about intervals of descriptors: two for each of the @n_before members before, and so on. */
static void ask_intervals(size_t n_before, const char *rest) {
        char text[8192];
        size_t n = 0;

        n += (size_t) snprintf(text, sizeof(text), "{\"before\":[");
        for (size_t i = 0; i + 1 < n_fds; i += 2) {
                bool is_first = i == 0 || i / 2 == n_before;

                if (i / 2 == n_before)
                        n += (size_t) snprintf(text + n, sizeof(text) - n, "],\"after\":[");
                n += (size_t) snprintf(text + n, sizeof(text) - n,
                                       "%s{\"fileDescriptor\":%zu,\"label\":\"f%zu\",\"to\":{"
                                       "\"fileDescriptor\":%zu,\"label\":\"f%zu\"}}",
                                       is_first ? "" : ",", i, i, i + 1, i + 1);
        }
        (void) snprintf(text + n, sizeof(text) - n, "]%s}", rest);
        converse(METHOD, text, true, fds, n_fds, WORKER_FREE, &answer);
        ck_assert_int_eq(answer.status, 0);
}

static json_object *reply_with(const char *key) {
        for (size_t i = 0; i < answer.n; i++)
                if (json_object_object_get_ex(answer.replies[i], key, NULL))
                        return answer.replies[i];
        return NULL;
}

/* Captures ten seconds apart, the later ones first; the load doubles between the sets. */
static void add_sets(void) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;

        for (unsigned i = 0; i < 2 * N_SIDE; i++) {
                bool is_after = i >= N_SIDE;
                unsigned index = is_after ? 3 * N_SIDE - 1 - i : N_SIDE - 1 - i;
                char name[16];

                (void) snprintf(name, sizeof(name), "%s-%u", is_after ? "after" : "before",
                                index % N_SIDE);
                snapshot.name = name;
                snapshot.boottime_ns = (5 + 10 * index) * NSEC_PER_SEC;
                snapshot.run_time_ns = UINT64_C(1000000) * index * (is_after ? 2 : 1) + index;
                add(&snapshot);
        }
}

/* Two intervals a side, ten seconds each, a minute apart, each of another load. */
static void add_intervals(void) {
        for (unsigned i = 0; i < 8; i++) {
                FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;

                snapshot.boottime_ns = (60 * (i / 2 + 1) + 10 * (i % 2)) * NSEC_PER_SEC;
                snapshot.run_time_ns = 1000000 * (i / 2 + 1) + i % 2 * 100000 * (i / 2 + 1);
                add(&snapshot);
        }
}

START_TEST(intervals_are_samples_of_their_own) {
        json_object *group, *row, *froms;

        add_intervals();
        ask_intervals(2, "");
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_string_at(reply_with("kind"), "kind"), "sets");
        froms = json_path(reply_with("afterFrom"), "afterFrom", NULL);
        ck_assert_uint_eq(json_object_array_length(froms), 2);
        ck_assert_str_eq(json_object_get_string(json_object_array_get_idx(froms, 0)), "f4");
        group = json_object_array_get_idx(json_path(reply_with("groups"), "groups", NULL), 0);
        row = json_path(group, "metrics", "run_time_ns", NULL);
        /* Six times the work of the first thread, a second; the time between them is no window. */
        ck_assert_int_eq(json_object_get_int(json_path(row, "before", "n", NULL)), 2);
        ck_assert_double_eq_tol(json_object_get_double(json_path(row, "before", "min", NULL)),
                                60000, 0.01);
        ck_assert_double_eq_tol(json_object_get_double(json_path(row, "before", "max", NULL)),
                                120000, 0.01);
        ck_assert_double_eq_tol(json_object_get_double(json_path(row, "after", "max", NULL)),
                                240000, 0.01);
}
END_TEST

START_TEST(an_interval_of_a_set_is_in_order) {
        FixtureSnapshot late = FIXTURE_SNAPSHOT;

        add_intervals();
        late.boottime_ns = 1000 * NSEC_PER_SEC;
        (void) close(fds[0]);
        fds[0] = fixture_snapshot(&late);
        ask_intervals(2, "");
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.NoWindow");
        ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "reason"),
                         "\"f0\" is later than \"f1\": name \"f1..f0\"");
}
END_TEST

START_TEST(heads_come_in_the_order_of_captures) {
        json_object *heads, *group, *row;

        if (cannot_be_tried(confinements[_i]))
                return;
        add_sets();
        ask(N_SIDE, "", true, confinements[_i]);
        ck_assert_ptr_null(answer.error);
        heads = json_path(reply_with("before"), "before", NULL);
        ck_assert_uint_eq(json_object_array_length(heads), N_SIDE);
        ck_assert_str_eq(json_string_at(json_object_array_get_idx(heads, 0), "name"), "before-0");
        heads = json_path(reply_with("after"), "after", NULL);
        ck_assert_str_eq(json_string_at(json_object_array_get_idx(heads, N_SIDE - 1), "name"),
                         "after-4");
        ck_assert_double_eq(json_object_get_double(json_path(reply_with("alpha"), "alpha", NULL)),
                            0.05);
        ck_assert_uint_eq(json_object_array_length(
                                  json_path(reply_with("sourcesAfter"), "sourcesAfter", NULL)),
                          _SOURCE_MAX);

        group = json_object_array_get_idx(json_path(reply_with("groups"), "groups", NULL), 0);
        ck_assert_str_eq(json_string_at(group, "key"), "pool");
        row = json_path(group, "metrics", "run_time_ns", NULL);
        ck_assert_int_eq(json_object_get_int(json_path(row, "before", "n", NULL)), N_SIDE - 1);
        /* One, two and three times the work of the first thread in ten seconds. */
        ck_assert_double_eq_tol(json_object_get_double(json_path(row, "before", "median", NULL)),
                                600000.6, 0.01);
        ck_assert_double_eq_tol(json_object_get_double(json_path(row, "after", "median", NULL)),
                                1200000.6, 0.01);
}
END_TEST

START_TEST(the_first_reply_tells_of_the_tests_and_the_last_of_what_is_hidden) {
        json_object *first, *last;

        add_sets();
        ask(N_SIDE, ",\"alpha\":0.01,\"view\":{\"threshold\":50}", true, WORKER_FREE);
        ck_assert_ptr_null(answer.error);
        ck_assert(answer.finished);
        first = reply_with("alpha");
        last = answer.replies[answer.n - 1];
        ck_assert_int_eq(json_object_get_int(json_path(first, "tested", NULL)), 1);
        ck_assert_int_eq(json_object_get_int(json_path(first, "significant", NULL)), 0);
        ck_assert_double_eq_tol(json_object_get_double(json_path(first, "leastP", NULL)), 2.0 / 70,
                                1e-12);
        ck_assert_int_eq(json_object_get_int(json_path(first, "samplesNeeded", NULL)), 5);
        ck_assert_int_eq(json_object_get_int(json_path(last, "rowsAboveThreshold", NULL)), 0);
        ck_assert_int_eq(json_object_get_int(json_path(last, "hiddenGroups", NULL)), 0);
        ck_assert_int_eq(json_object_get_int(json_path(last, "groupsOnlyBefore", NULL)), 0);
        ck_assert_ptr_nonnull(json_path(last, "hiddenRows", NULL));
}
END_TEST

START_TEST(enough_captures_are_significant) {
        add_sets();
        ask(N_SIDE, ",\"view\":{\"changedOnly\":true,\"threshold\":99}", true, WORKER_FREE);
        ck_assert_int_eq(json_object_get_int(
                                 json_path(reply_with("hiddenRows"), "rowsAboveThreshold", NULL)),
                         1);
        ck_assert_ptr_null(json_path(reply_with("tested"), "samplesNeeded", NULL));
        ck_assert_uint_eq(json_object_array_length(json_path(reply_with("groups"), "groups", NULL)),
                          1);
}
END_TEST

START_TEST(a_boot_in_between_makes_no_rate) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        json_object *group;

        for (unsigned i = 0; i < 8; i++) {
                snapshot.boot_id = i % 4 < 2 ? FIXTURE_BOOT_ID : "ffffffffffffffffffffffffffffffff";
                snapshot.boottime_ns = (5 + 10 * i) * NSEC_PER_SEC;
                snapshot.run_time_ns = 1000 * i;
                add(&snapshot);
        }
        ask(4, "", true, WORKER_FREE);
        ck_assert_ptr_null(answer.error);
        group = json_object_array_get_idx(json_path(reply_with("groups"), "groups", NULL), 0);
        /* Two captures of each boot give one window each. */
        ck_assert_int_eq(json_object_get_int(
                                 json_path(group, "metrics", "run_time_ns", "before", "n", NULL)),
                         2);
        ck_assert_int_eq(json_object_get_int(
                                 json_path(group, "metrics", "thread_count", "after", "n", NULL)),
                         4);
}
END_TEST

START_TEST(without_boot_ids_there_are_levels_only) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        json_object *group;

        snapshot.boot_id = "";
        for (unsigned i = 0; i < 6; i++)
                add(&snapshot);
        ask(3, "", true, WORKER_FREE);
        ck_assert_ptr_null(answer.error);
        group = json_object_array_get_idx(json_path(reply_with("groups"), "groups", NULL), 0);
        ck_assert_ptr_null(json_path(group, "metrics", "run_time_ns", "before", NULL));
        ck_assert_int_eq(json_object_get_int(
                                 json_path(group, "metrics", "thread_count", "after", "n", NULL)),
                         3);
}
END_TEST

static const struct {
        size_t n, n_before;
        const char *rest, *parameter;
} refused_rows[] = {
        { 2, 2, "", "after" },
        { 2, 0, "", "before" },
        { 65, 33, "", "after" },
        { 2, 1, ",\"alpha\":0", "alpha" },
        { 2, 1, ",\"alpha\":1", "alpha" },
        { 2, 1, ",\"alpha\":-0.5", "alpha" },
        { 2, 1, ",\"alpha\":\"0.05\"", "alpha" },
        { 2, 1, ",\"view\":{\"groupBy\":\"thread\"}", "view" },
        { 2, 1, ",\"view\":{\"window\":true}", "view" },
        { 2, 1, ",\"view\":{\"pairs\":[{\"old\":\"/a\",\"new\":\"/b\"}]}", "view" },
        { 2, 1, ",\"view\":{\"groupBy\":\"x\"}", "view" },
        { 2, 1, ",\"other\":1", "other" },
};

START_TEST(what_is_wrong_with_a_call_is_named) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        size_t n_sent = MIN_OF(refused_rows[_i].n, (size_t) 64);

        for (size_t i = 0; i < n_sent; i++) {
                snapshot.boottime_ns = (5 + 10 * i) * NSEC_PER_SEC;
                add(&snapshot);
        }
        if (n_sent < refused_rows[_i].n) { /* more references than one call can carry descriptors */
                char text[4096] = "{\"before\":[{}";

                for (size_t i = 2; i < refused_rows[_i].n; i++)
                        (void) strcat(text, ",{}");
                (void) strcat(text, "],\"after\":[{}]}");
                converse(METHOD, text, true, NULL, 0, WORKER_FREE, &answer);
        } else {
                ask(refused_rows[_i].n_before, refused_rows[_i].rest, true, WORKER_FREE);
        }
        ck_assert_str_eq(answer.error, "org.varlink.service.InvalidParameter");
        ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "parameter"),
                         refused_rows[_i].parameter);
}
END_TEST

START_TEST(sixty_four_snapshots_are_taken) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;

        for (size_t i = 0; i < 64; i++) {
                snapshot.boottime_ns = (5 + 10 * i) * NSEC_PER_SEC;
                snapshot.run_time_ns = i * i;
                add(&snapshot);
        }
        ask(32, "", true, WORKER_FREE);
        ck_assert_ptr_null(answer.error);
        ck_assert_int_eq(json_object_get_int(json_path(reply_with("tested"), "tested", NULL)), 1);
}
END_TEST

START_TEST(one_capture_cannot_be_on_both_sides) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;

        add(&snapshot);
        add(&snapshot);
        ask(1, "", true, WORKER_FREE);
        ck_assert_str_eq(answer.error, "org.varlink.service.InvalidParameter");
}
END_TEST

START_TEST(without_more_it_is_refused) {
        add_sets();
        ask(N_SIDE, "", false, WORKER_FREE);
        ck_assert_str_eq(answer.error, "org.varlink.service.ExpectedMore");
}
END_TEST

START_TEST(a_damaged_file_is_named) {
        add_sets();
        (void) close(fds[7]);
        fds[7] = fixture_file("no snapshot", 11);
        ask(N_SIDE, "", true, WORKER_FREE);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.SnapshotUnreadable");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("set-analysis");
        TCase *tests = tcase_create("set-analysis");

        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, intervals_are_samples_of_their_own);
        tcase_add_test(tests, an_interval_of_a_set_is_in_order);
        tcase_add_loop_test(tests, heads_come_in_the_order_of_captures, 0,
                            ELEMENTSOF(confinements));
        tcase_add_test(tests, the_first_reply_tells_of_the_tests_and_the_last_of_what_is_hidden);
        tcase_add_test(tests, enough_captures_are_significant);
        tcase_add_test(tests, a_boot_in_between_makes_no_rate);
        tcase_add_test(tests, without_boot_ids_there_are_levels_only);
        tcase_add_loop_test(tests, what_is_wrong_with_a_call_is_named, 0, ELEMENTSOF(refused_rows));
        tcase_add_test(tests, sixty_four_snapshots_are_taken);
        tcase_add_test(tests, one_capture_cannot_be_on_both_sides);
        tcase_add_test(tests, without_more_it_is_refused);
        tcase_add_test(tests, a_damaged_file_is_named);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
