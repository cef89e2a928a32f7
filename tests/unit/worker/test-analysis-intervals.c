/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

#define COMPARE "io.ctprof.Profiler.Compare"
#define OTHER_BOOT "ffffffffffffffffffffffffffffffff"
#define INTERVAL(from, to)                         \
        "{\"fileDescriptor\":" #from ",\"label\":" \
        "\"f" #from "\",\"to\":{\"fileDescriptor\":" #to ",\"label\":\"f" #to "\"}}"
#define CALL(view) \
        "{\"before\":" INTERVAL(0, 1) ",\"after\":" INTERVAL(2, 3) ",\"view\":{" view "}}"

static const char *text_at(json_object *object) {
        return json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
}

static json_object *reply_with(const Conversation *answer, const char *key) {
        for (size_t i = 0; i < answer->n; i++)
                if (json_object_object_get_ex(answer->replies[i], key, NULL))
                        return json_object_object_get(answer->replies[i], key);
        return NULL;
}

/* A, one second long: 2,000 ns of the first thread. B, four seconds: 1,000 ns. */
static void make_sides(FixtureSnapshot sides[static 4]) {
        static const struct {
                uint64_t seconds, run_time_ns;
        } ends[] = { { 5, 1000 }, { 6, 3000 }, { 10, 1000 }, { 14, 2000 } };

        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                sides[i] = FIXTURE_SNAPSHOT;
                sides[i].boottime_ns = ends[i].seconds * NSEC_PER_SEC;
                sides[i].run_time_ns = ends[i].run_time_ns;
                sides[i].boot_id = i < 2 ? FIXTURE_BOOT_ID : OTHER_BOOT;
        }
}

static void analyse(const FixtureSnapshot sides[static 4], const char *parameters,
                    WorkerConfinement confinement, Conversation *ret) {
        int fds[4];

        for (unsigned i = 0; i < 4; i++)
                fds[i] = fixture_snapshot(&sides[i]);
        converse(COMPARE, parameters, true, fds, 4, confinement, ret);
        ck_assert_int_eq(ret->status, 0);
        for (unsigned i = 0; i < 4; i++)
                (void) close(fds[i]);
}

/* {a, b, delta, percent} of the run time of all threads together. */
static const char *run_time_of(const Conversation *answer, char ret_text[static 128]) {
        json_object *group = json_object_array_get_idx(reply_with(answer, "groups"), 0);
        json_object *row = json_path(group, "metrics", "run_time_ns", NULL);

        (void) snprintf(ret_text, 128, "%s %s %s %s", text_at(json_path(row, "a", NULL)),
                        text_at(json_path(row, "b", NULL)), text_at(json_path(row, "delta", NULL)),
                        text_at(json_path(row, "percent", NULL)));
        return ret_text;
}

START_TEST(both_intervals_are_told) {
        FixtureSnapshot sides[4];
        Conversation answer;

        make_sides(sides);
        analyse(sides, CALL(""), WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_object_get_string(reply_with(&answer, "kind")), "intervals");
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "a"), "elapsedNs", NULL)),
                         "1000000000");
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "b"), "elapsedNs", NULL)),
                         "4000000000");
        ck_assert_str_eq(text_at(reply_with(&answer, "sameBoot")), "false");
        ck_assert_ptr_null(reply_with(&answer, "before"));
        ck_assert_ptr_null(reply_with(&answer, "onlyBefore"));
        conversation_done(&answer);
}
END_TEST

static const struct {
        unsigned n_threads[4];
        const char *lives_b, *run_time;
} work_rows[] = {
        /* the threads have 1, 2 and 3 times as much as the first */
        { { 3, 3, 3, 3 },
          "{\"survived\":3,\"born\":0,\"ended\":0,\"bornAndEnded\":null}",
          "12000 1500 -10500 -87.5" },
        /* 2,000 x 3 of the born, 3,000 of the others */
        { { 3, 3, 2, 3 },
          "{\"survived\":2,\"born\":1,\"ended\":0,\"bornAndEnded\":null}",
          "12000 2250 -9750 -81.25" },
        /* nobody saw what the third did before it ended */
        { { 3, 3, 3, 2 },
          "{\"survived\":2,\"born\":0,\"ended\":1,\"bornAndEnded\":null}",
          "12000 750 -11250 -93.75" },
};

START_TEST(work_is_that_of_who_is_there_at_the_end) {
        FixtureSnapshot sides[4];
        Conversation answer;
        json_object *group;
        char text[128];

        make_sides(sides);
        for (unsigned i = 0; i < 4; i++)
                sides[i].n_threads = work_rows[_i].n_threads[i];
        analyse(sides, CALL(""), WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(run_time_of(&answer, text), work_rows[_i].run_time);
        group = json_object_array_get_idx(reply_with(&answer, "groups"), 0);
        ck_assert_str_eq(text_at(json_path(group, "lives", "b", NULL)), work_rows[_i].lives_b);
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "b"), "lives", NULL)),
                         work_rows[_i].lives_b);
        ck_assert_int_eq(json_object_get_int(json_path(group, "threads", "b", NULL)),
                         (int) work_rows[_i].n_threads[3]);
        conversation_done(&answer);
}
END_TEST

START_TEST(a_sum_that_fell_is_not_known) {
        FixtureSnapshot sides[4];
        json_object *group, *row;
        Conversation answer;

        make_sides(sides);
        sides[3].run_time_ns = 900;
        analyse(sides, CALL(""), WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        group = json_object_array_get_idx(reply_with(&answer, "groups"), 0);
        row = json_path(group, "metrics", "run_time_ns", NULL);
        ck_assert_str_eq(text_at(json_path(row, "a", NULL)), "12000");
        ck_assert_ptr_null(json_path(row, "b", NULL));
        ck_assert_str_eq(text_at(json_path(row, "reset", NULL)), "true");
        ck_assert_str_eq(json_string_at(row, "reason"), "b: the counter was reset");
        conversation_done(&answer);
}
END_TEST

START_TEST(a_threshold_is_about_rates) {
        FixtureSnapshot sides[4];
        Conversation answer;

        for (unsigned percent = 80; percent <= 90; percent += 10) {
                char view[256];

                make_sides(sides);
                (void) snprintf(view, sizeof(view),
                                CALL("\"threshold\":%u,\"metrics\":[\"run_time_ns\"],"
                                     "\"sections\":[\"primary\"]"),
                                percent);
                analyse(sides, view, WORKER_FREE, &answer);
                ck_assert_ptr_null(answer.error);
                ck_assert_str_eq(text_at(reply_with(&answer, "rowsAboveThreshold")),
                                 percent < 87 ? "1" : "0");
                conversation_done(&answer);
        }
}
END_TEST

START_TEST(it_works_in_the_sandbox) {
        FixtureSnapshot sides[4];
        Conversation answer;
        char text[128];

        if (cannot_be_tried(WORKER_CONFINED))
                return;
        make_sides(sides);
        analyse(sides, CALL(""), WORKER_CONFINED, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(run_time_of(&answer, text), "12000 1500 -10500 -87.5");
        conversation_done(&answer);
}
END_TEST

START_TEST(each_interval_is_of_one_boot_and_in_order) {
        static const char *const reasons[] = {
                "\"f2\" and \"f3\" are from different boots, so only their totals can be compared",
                "\"f2\" is later than \"f3\": name \"f3..f2\"",
        };
        FixtureSnapshot sides[4];
        Conversation answer;

        make_sides(sides);
        if (_i == 0)
                sides[3].boot_id = FIXTURE_BOOT_ID;
        else
                sides[3].boottime_ns = NSEC_PER_SEC;
        analyse(sides, CALL(""), WORKER_FREE, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.NoWindow");
        ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "reason"), reasons[_i]);
        conversation_done(&answer);
}
END_TEST

START_TEST(damage_is_told_of_the_file_that_has_it) {
        for (unsigned damaged = 0; damaged < 4; damaged++) {
                FixtureSnapshot sides[4];
                Conversation answer;
                char label[8];
                int fds[4];

                make_sides(sides);
                for (unsigned i = 0; i < 4; i++)
                        fds[i] = fixture_snapshot(&sides[i]);
                ck_assert_int_eq(pwrite(fds[damaged], "x", 1, 20), 1);
                converse(COMPARE, CALL(""), true, fds, 4, WORKER_FREE, &answer);
                ck_assert_str_eq(answer.error, "io.ctprof.Profiler.SnapshotUnreadable");
                (void) snprintf(label, sizeof(label), "f%u", damaged);
                ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "name"), label);
                conversation_done(&answer);
                for (unsigned i = 0; i < 4; i++)
                        (void) close(fds[i]);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("analysis-intervals");
        TCase *work = tcase_create("work"), *refusals = tcase_create("refusals");

        tcase_add_test(work, both_intervals_are_told);
        tcase_add_loop_test(work, work_is_that_of_who_is_there_at_the_end, 0,
                            ELEMENTSOF(work_rows));
        tcase_add_test(work, a_sum_that_fell_is_not_known);
        tcase_add_test(work, a_threshold_is_about_rates);
        tcase_add_test(work, it_works_in_the_sandbox);
        suite_add_tcase(suite, work);
        tcase_add_loop_test(refusals, each_interval_is_of_one_boot_and_in_order, 0, 2);
        tcase_add_test(refusals, damage_is_told_of_the_file_that_has_it);
        suite_add_tcase(suite, refusals);
        return check_main(suite);
}
