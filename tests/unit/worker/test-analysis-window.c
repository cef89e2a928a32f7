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

/* The first one that is not about progress. */
static json_object *first_reply(const Conversation *answer) {
        size_t i = 0;

        while (i + 1 < answer->n && json_object_object_get_ex(answer->replies[i], "progress", NULL))
                i++;
        return answer->replies[i];
}

static void analyse(const char *method, const char *parameters, int before, int after,
                    WorkerConfinement confinement, Conversation *ret) {
        const int fds[] = { before, after };

        converse(method, parameters, true, fds, 2, confinement, ret);
        ck_assert_int_eq(ret->status, 0);
        (void) close(before);
        (void) close(after);
}

static const struct {
        unsigned n_before, n_after;
        const char *lives, *run_time; /* before, after and delta of the group */
} window_rows[] = {
        { 3, 3, "{\"survived\":3,\"born\":0,\"ended\":0,\"bornAndEnded\":null}", "6000 9000 3000" },
        { 3, 2, "{\"survived\":2,\"born\":0,\"ended\":1,\"bornAndEnded\":null}", "3000 4500 1500" },
        { 2, 3, "{\"survived\":2,\"born\":1,\"ended\":0,\"bornAndEnded\":null}", "3000 9000 6000" },
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
        ck_assert_str_eq(text_at(reply_with(&answer, "lives")), window_rows[_i].lives);
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

        if (cannot_be_tried(WORKER_CONFINED))
                return;
        analyse(COMPARE, WINDOW(",\"groupBy\":\"all\""), fixture_snapshot(&snapshot),
                fixture_snapshot(&snapshot), WORKER_CONFINED, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(text_at(reply_with(&answer, "lives")),
                         "{\"survived\":3,\"born\":0,\"ended\":0,\"bornAndEnded\":null}");
        conversation_done(&answer);
}
END_TEST

/* How two snapshots are related in time, and what a call makes of them. */
static const struct {
        const char *method, *parameters;
        uint64_t before_ns, after_ns;
        const char *boot_after;
        const char *kind, *swapped; /* of the first reply */
} kind_rows[] = {
#define PAIR(view) "{\"before\":" REF(0, "a") ",\"after\":" REF(1, "b") ",\"view\":{" view "}}"
#define INTERVAL "{\"fileDescriptor\":0,\"label\":\"a\",\"to\":" REF(1, "b") "}"
        { COMPARE, PAIR(""), 5, 6, FIXTURE_BOOT_ID, "interval", NULL },
        { COMPARE, PAIR(""), 5, 5, FIXTURE_BOOT_ID, "interval", NULL },
        { COMPARE, PAIR(""), 6, 5, FIXTURE_BOOT_ID, "interval", "true" },
        { COMPARE, PAIR("\"window\":true"), 5, 6, FIXTURE_BOOT_ID, "interval", NULL },
        { COMPARE, PAIR("\"totals\":true"), 5, 6, FIXTURE_BOOT_ID, "totals", NULL },
        { COMPARE, PAIR("\"totals\":true"), 6, 5, FIXTURE_BOOT_ID, "totals", "true" },
        { COMPARE, PAIR("\"totals\":true,\"threshold\":5"), 5, 6, FIXTURE_BOOT_ID, "totals", NULL },
        { COMPARE, PAIR("\"totals\":true,\"sortBy\":\"percent\""), 5, 6, FIXTURE_BOOT_ID, "totals",
          NULL },
        { COMPARE, PAIR(""), 5, 6, "ffffffffffffffffffffffffffffffff", "totals", NULL },
        { COMPARE, PAIR("\"threshold\":5"), 5, 6, "", "totals", NULL },
        { SHOW, "{\"snapshot\":" REF(0, "a") "}", 5, 6, "", "state", NULL },
        { SHOW, "{\"snapshot\":" INTERVAL "}", 5, 6, FIXTURE_BOOT_ID, "interval", NULL },
        { SHOW, "{\"snapshot\":" INTERVAL ",\"view\":{\"window\":true}}", 5, 6, FIXTURE_BOOT_ID,
          "interval", NULL },
};

START_TEST(the_kind_follows_from_the_subjects) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        bool is_interval = strcmp(kind_rows[_i].kind, "interval") == 0;
        json_object *first, *groups;
        Conversation answer;

        before.boottime_ns = kind_rows[_i].before_ns;
        after.boottime_ns = kind_rows[_i].after_ns;
        after.boot_id = kind_rows[_i].boot_after;
        analyse(kind_rows[_i].method, kind_rows[_i].parameters, fixture_snapshot(&before),
                fixture_snapshot(&after), WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        first = first_reply(&answer);
        ck_assert_str_eq(json_string_at(first, "kind"), kind_rows[_i].kind);
        if (kind_rows[_i].swapped)
                ck_assert_str_eq(text_at(json_path(first, "swapped", NULL)), kind_rows[_i].swapped);
        else
                ck_assert_ptr_null(json_path(first, "swapped", NULL));
        ck_assert_int_eq(!!json_path(first, "lives", NULL), is_interval);
        groups = reply_with(&answer, "groups");
        if (groups && json_object_array_length(groups) > 0)
                ck_assert_int_eq(!!json_path(json_object_array_get_idx(groups, 0), "lives", NULL),
                                 is_interval);
        conversation_done(&answer);
}
END_TEST

/* Which lists a view gives, and the number of groups that its limit left out. */
static const struct {
        const char *view;
        bool overview, groups, both_hidden;
        const char *hidden;
} list_rows[] = {
        { "", false, true, true, "0" },
        { "\"overview\":true", true, true, true, "0" },
        { "\"overview\":true,\"rows\":false", true, false, false, "0" },
        { "\"rows\":false", false, false, false, "0" },
        { "\"overview\":true,\"limit\":1,\"groupBy\":\"thread\"", true, true, true, "2" },
};

START_TEST(the_view_chooses_its_lists) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        json_object *overview, *groups;
        Conversation answer;
        char parameters[256];

        after.boottime_ns += NSEC_PER_SEC;
        (void) snprintf(parameters, sizeof(parameters),
                        "{\"before\":" REF(0, "a") ",\"after\":" REF(1, "b") ",\"view\":{%s}}",
                        list_rows[_i].view);
        analyse(COMPARE, parameters, fixture_snapshot(&before), fixture_snapshot(&after),
                WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        overview = reply_with(&answer, "overview");
        groups = reply_with(&answer, "groups");
        ck_assert_int_eq(overview != NULL, list_rows[_i].overview);
        ck_assert_int_eq(groups != NULL, list_rows[_i].groups);
        ck_assert_int_eq(reply_with(&answer, "hiddenOnlyAfter") != NULL, list_rows[_i].both_hidden);
        ck_assert_str_eq(text_at(reply_with(&answer, "hiddenGroups")), list_rows[_i].hidden);
        ck_assert_ptr_nonnull(json_path(first_reply(&answer), "coverage", "survivedNs", NULL));
        if (overview && groups)
                ck_assert_str_eq(
                        text_at(json_path(json_object_array_get_idx(overview, 0), "key", NULL)),
                        text_at(json_path(json_object_array_get_idx(groups, 0), "key", NULL)));
        conversation_done(&answer);
}
END_TEST

#define NO_WINDOW "io.ctprof.Profiler.NoWindow"
#define INVALID "org.varlink.service.InvalidParameter"
static const struct {
        const char *method, *parameters;
        uint64_t before_ns, after_ns;
        const char *boot_after;
        const char *error, *detail; /* the reason, or the parameter */
} refused_rows[] = {
        { SHOW, "{\"snapshot\":" INTERVAL "}", 6, 5, FIXTURE_BOOT_ID, NO_WINDOW,
          "\"a\" is later than \"b\": name \"b..a\"" },
        { SHOW, "{\"snapshot\":" INTERVAL "}", 5, 5, FIXTURE_BOOT_ID, NO_WINDOW,
          "\"a\" and \"b\" are the same capture" },
        { SHOW, "{\"snapshot\":" INTERVAL "}", 5, 6, "ffffffffffffffffffffffffffffffff", NO_WINDOW,
          "\"a\" and \"b\" are from different boots, so only their totals can be compared" },
        { SHOW, "{\"snapshot\":" INTERVAL "}", 5, 6, "", NO_WINDOW,
          "\"b\" does not record its boot" },
        { SHOW, "{\"snapshot\":" INTERVAL ",\"view\":{\"totals\":true}}", 5, 6, FIXTURE_BOOT_ID,
          INVALID, "view" },
        { SHOW, "{\"snapshot\":" INTERVAL ",\"view\":{\"threshold\":5}}", 5, 6, FIXTURE_BOOT_ID,
          INVALID, "view.threshold" },
        { SHOW, "{\"snapshot\":" REF(0, "a") ",\"view\":{\"window\":true}}", 5, 6, "", NO_WINDOW,
          "\"a\" is one snapshot" },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":0,\"to\":{}}}", 5, 6, "", INVALID, "to" },
        { COMPARE, PAIR("\"threshold\":5"), 5, 6, FIXTURE_BOOT_ID, INVALID, "view.threshold" },
        { COMPARE, PAIR("\"sortBy\":\"percent\""), 5, 6, FIXTURE_BOOT_ID, INVALID, "view.sortBy" },
        { COMPARE, PAIR("\"window\":true,\"totals\":true"), 5, 6, FIXTURE_BOOT_ID, INVALID,
          "view" },
        { COMPARE, "{\"before\":" INTERVAL ",\"after\":" REF(2, "c") "}", 5, 6, FIXTURE_BOOT_ID,
          INVALID, "after" },
        { COMPARE, "{\"before\":" REF(2, "c") ",\"after\":" INTERVAL "}", 5, 6, FIXTURE_BOOT_ID,
          INVALID, "before" },
};

START_TEST(what_is_no_view_of_its_subjects_is_refused) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        json_object *last;
        Conversation answer;
        int fds[3];

        before.boottime_ns = refused_rows[_i].before_ns;
        after.boottime_ns = refused_rows[_i].after_ns;
        after.boot_id = refused_rows[_i].boot_after;
        fds[0] = fixture_snapshot(&before);
        fds[1] = fixture_snapshot(&after);
        fds[2] = fixture_snapshot(&before);
        converse(refused_rows[_i].method, refused_rows[_i].parameters, true, fds, 3, WORKER_FREE,
                 &answer);
        ck_assert_str_eq(answer.error, refused_rows[_i].error);
        last = answer.replies[answer.n - 1];
        ck_assert_str_eq(
                json_string_at(last, strcmp(answer.error, INVALID) == 0 ? "parameter" : "reason"),
                refused_rows[_i].detail);
        conversation_done(&answer);
        for (unsigned i = 0; i < 3; i++)
                (void) close(fds[i]);
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
          "\"a\" and \"b\" are from different boots, so only their totals can be compared" },
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
        tcase_add_loop_test(window, the_kind_follows_from_the_subjects, 0, ELEMENTSOF(kind_rows));
        tcase_add_loop_test(window, the_view_chooses_its_lists, 0, ELEMENTSOF(list_rows));
        suite_add_tcase(suite, window);
        tcase_add_loop_test(refusals, a_window_needs_one_boot, 0, ELEMENTSOF(boot_rows));
        tcase_add_loop_test(refusals, what_is_no_view_of_its_subjects_is_refused, 0,
                            ELEMENTSOF(refused_rows));
        tcase_add_test(refusals, damage_is_told_of_the_file_that_has_it);
        suite_add_tcase(suite, refusals);
        return check_main(suite);
}
