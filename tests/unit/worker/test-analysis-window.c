/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

#define SHOW "io.ctprof.Profiler.Show"
#define COMPARE "io.ctprof.Profiler.Compare"
#define REF(index, label) "{\"fileDescriptor\":" #index ",\"label\":\"" label "\"}"
#define WINDOW(rest)                                                       \
        "{\"before\":" REF(0, "a") ",\"after\":" REF(1, "b") ",\"view\":{" \
                                                             "\"window\":true" rest "}}"

static const char *text_at(json_object *object) {
        return json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
}

static json_object *reply_with(const Conversation *answer, const char *key) {
        for (size_t i = 0; i < answer->n; i++)
                if (json_object_object_get_ex(answer->replies[i], key, NULL))
                        return json_object_object_get(answer->replies[i], key);
        return NULL;
}

static void analyse(const char *method, const char *parameters, int before, int after,
                    WorkerConfinement confinement, Conversation *ret) {
        const int fds[] = { before, after };

        converse("analysis", method, parameters, true, fds, 2, confinement, ret);
        ck_assert_int_eq(ret->status, 0);
        (void) close(before);
        (void) close(after);
}

static const struct {
        unsigned n_before, n_after;
        const char *window, *run_time; /* before, after and delta of the group */
} window_rows[] = {
        { 3, 3, "{\"survived\":3,\"born\":0,\"gone\":0}", "6000 9000 3000" },
        { 3, 2, "{\"survived\":2,\"born\":0,\"gone\":1}", "3000 4500 1500" },
        { 2, 3, "{\"survived\":2,\"born\":1,\"gone\":0}", "3000 9000 6000" },
};

START_TEST(a_window_tells_work_and_lives) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        json_object *group, *row;
        Conversation answer;
        char text[128];

        before.n_threads = window_rows[_i].n_before;
        after.n_threads = window_rows[_i].n_after;
        after.run_time_ns = 1500;
        after.boottime_ns += NSEC_PER_SEC;
        analyse(COMPARE, WINDOW(""), fixture_snapshot(&before), fixture_snapshot(&after),
                WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(text_at(reply_with(&answer, "window")), window_rows[_i].window);
        group = json_object_array_get_idx(reply_with(&answer, "groups"), 0);
        row = json_path(group, "metrics", "run_time_ns", NULL);
        (void) snprintf(text, sizeof(text), "%s %s %s", text_at(json_path(row, "before", NULL)),
                        text_at(json_path(row, "after", NULL)),
                        text_at(json_path(row, "delta", NULL)));
        ck_assert_str_eq(text, window_rows[_i].run_time);
        /* The sections show both sides as without a window. */
        ck_assert_ptr_nonnull(json_path(reply_with(&answer, "sections"), "smaps-rollup", NULL));
        conversation_done(&answer);
}
END_TEST

START_TEST(it_works_in_the_sandbox) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;

        if (under_valgrind())
                return;
        analyse(COMPARE, WINDOW(",\"groupBy\":\"all\""), fixture_snapshot(&snapshot),
                fixture_snapshot(&snapshot), WORKER_CONFINED, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(text_at(reply_with(&answer, "window")),
                         "{\"survived\":3,\"born\":0,\"gone\":0}");
        conversation_done(&answer);
}
END_TEST

START_TEST(without_a_window_none_is_told) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;

        analyse(COMPARE, "{\"before\":" REF(0, "a") ",\"after\":" REF(1, "b") "}",
                fixture_snapshot(&snapshot), fixture_snapshot(&snapshot), WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_ptr_null(reply_with(&answer, "window"));
        ck_assert_ptr_null(json_path(json_object_array_get_idx(reply_with(&answer, "groups"), 0),
                                     "survived", NULL));
        conversation_done(&answer);
}
END_TEST

static const struct {
        const char *boot_before, *boot_after;
        uint64_t before_ns, after_ns;
        const char *reason; /* NULL: none */
} boot_rows[] = {
        { FIXTURE_BOOT_ID, FIXTURE_BOOT_ID, 5, 5, NULL },
        { FIXTURE_BOOT_ID, FIXTURE_BOOT_ID, 6, 5, NULL }, /* the sides are swapped */
        { FIXTURE_BOOT_ID, "ffffffffffffffffffffffffffffffff", 5, 6,
          "\"a\" and \"b\" are from different boots" },
        { FIXTURE_BOOT_ID, "", 5, 6, "\"b\" does not record its boot" },
        { "", FIXTURE_BOOT_ID, 5, 6, "\"a\" does not record its boot" },
        { "", "", 5, 6, "\"a\" does not record its boot" },
};

START_TEST(a_window_needs_one_boot) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        Conversation answer;

        before.boot_id = boot_rows[_i].boot_before;
        after.boot_id = boot_rows[_i].boot_after;
        before.boottime_ns = boot_rows[_i].before_ns;
        after.boottime_ns = boot_rows[_i].after_ns;
        analyse(COMPARE, WINDOW(""), fixture_snapshot(&before), fixture_snapshot(&after),
                WORKER_FREE, &answer);
        if (boot_rows[_i].reason) {
                ck_assert_str_eq(answer.error, "io.ctprof.Profiler.NoWindow");
                ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "reason"),
                                 boot_rows[_i].reason);
        } else {
                ck_assert_ptr_null(answer.error);
        }
        conversation_done(&answer);
}
END_TEST

START_TEST(one_snapshot_has_no_window) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;

        analyse(SHOW, "{\"snapshot\":" REF(0, "a") ",\"view\":{\"window\":true}}",
                fixture_snapshot(&snapshot), fixture_snapshot(&snapshot), WORKER_FREE, &answer);
        ck_assert_str_eq(answer.error, "org.varlink.service.InvalidParameter");
        ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "parameter"), "view");
        conversation_done(&answer);
}
END_TEST

START_TEST(damage_is_told_of_the_file_that_has_it) {
        for (unsigned side = 0; side < 2; side++) {
                FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
                int fds[] = { fixture_snapshot(&snapshot), fixture_snapshot(&snapshot) };
                Conversation answer;

                ck_assert_int_eq(pwrite(fds[side], "x", 1, 20), 1);
                analyse(COMPARE, WINDOW(""), fds[0], fds[1], WORKER_FREE, &answer);
                ck_assert_str_eq(answer.error, "io.ctprof.Profiler.SnapshotUnreadable");
                ck_assert_str_eq(json_string_at(answer.replies[answer.n - 1], "name"),
                                 side == 0 ? "a" : "b");
                conversation_done(&answer);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("analysis-window");
        TCase *window = tcase_create("window"), *refusals = tcase_create("refusals");

        tcase_add_loop_test(window, a_window_tells_work_and_lives, 0, ELEMENTSOF(window_rows));
        tcase_add_test(window, it_works_in_the_sandbox);
        tcase_add_test(window, without_a_window_none_is_told);
        suite_add_tcase(suite, window);
        tcase_add_loop_test(refusals, a_window_needs_one_boot, 0, ELEMENTSOF(boot_rows));
        tcase_add_test(refusals, one_snapshot_has_no_window);
        tcase_add_test(refusals, damage_is_told_of_the_file_that_has_it);
        suite_add_tcase(suite, refusals);
        return check_main(suite);
}
