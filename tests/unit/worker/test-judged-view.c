/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

/*
 * Views of snapshots in which the kernel says what cannot be: threads that are a few seconds old,
 * one of which waited for block I/O longer than the host is up.
 */

#define SHOW "io.ctprof.Profiler.Show"
#define COMPARE "io.ctprof.Profiler.Compare"

#define S NSEC_PER_SEC

static json_object *find(const Conversation *answer, const char *key) {
        for (size_t i = 0; i < answer->n; i++) {
                json_object *value = json_object_object_get(answer->replies[i], key);

                if (value)
                        return value;
        }
        ck_abort_msg("no reply has %s", key);
        return NULL;
}

static json_object *row_of(const Conversation *answer, const char *list, const char *name) {
        json_object *group = json_object_array_get_idx(find(answer, "groups"), 0);

        return json_object_object_get(json_object_object_get(group, list), name);
}

/* The member as text; "-" if it is left out. */
static const char *text_of(json_object *row, const char *key) {
        json_object *value;

        if (!json_object_object_get_ex(row, key, &value))
                return "-";
        return value ? json_object_get_string(value) : "null";
}

static unsigned long long n_implausible(const Conversation *answer, const char *list,
                                        const char *name) {
        json_object *sources = find(answer, list);

        for (size_t i = 0; i < json_object_array_length(sources); i++) {
                json_object *source = json_object_array_get_idx(sources, i);

                if (strcmp(text_of(source, "name"), name) == 0)
                        return json_object_get_uint64(
                                json_object_object_get(source, "implausible"));
        }
        return 0;
}

#define DEFECT METRIC_TEXT_OF_BLKIO_DEFECT

static const struct {
        const char *what;
        uint64_t total, max;
        const char *value, *approximate, *reason;
        unsigned long long n_implausible;
} show_rows[] = {
        { "possible", 2 * S, 1 * S, "2000000000", DEFECT, "-", 0 },
        { "spoiled by its longest event", 902 * S, 900 * S, "2000000000",
          "without 1 event longer than the thread or the interval; " DEFECT, "-", 1 },
        { "spoiled", 902 * S, 1 * S, "null", "-",
          "implausible: more than the age of these threads or the interval allows", 1 },
};

START_TEST(a_view_believes_only_what_can_be) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;
        json_object *row;
        int fd;

        snapshot.end_boottime_ns = snapshot.boottime_ns + S;
        snapshot.blkio_total_ns = show_rows[_i].total;
        snapshot.blkio_max_ns = show_rows[_i].max;
        fd = fixture_snapshot(&snapshot);
        converse(SHOW, "{\"snapshot\":{\"fileDescriptor\":0}}", true, &fd, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        row = row_of(&answer, "metrics", "blkio_delay_total_ns");
        ck_assert_str_eq(text_of(row, "value"), show_rows[_i].value);
        ck_assert_str_eq(text_of(row, "approximate"), show_rows[_i].approximate);
        ck_assert_str_eq(text_of(row, "reason"), show_rows[_i].reason);
        ck_assert_str_eq(text_of(row_of(&answer, "metrics", "run_time_ns"), "approximate"), "-");
        ck_assert_uint_eq(n_implausible(&answer, "sources", "taskstats-delay"),
                          show_rows[_i].n_implausible);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

/* A difference of two snapshots, 15 s apart, of threads that are 50 s old. */
static const struct {
        const char *view;
        uint64_t totals[2], maxima[2];
        const char *delta, *implausible;
        const char *reason;
} pair_rows[] = {
        { "{\"totals\":true}", { 1 * S, 4 * S }, { 1 * S, 2 * S }, "3000000000", "-", "-" },
        { "{\"window\":true}", { 1 * S, 4 * S }, { 1 * S, 2 * S }, "3000000000", "-", "-" },
        /* longer than the thread lived */
        { "{\"totals\":true}", { 1 * S, 924 * S }, { 1 * S, 921 * S }, "2000000000", "-", "-" },
        { "{\"window\":true}", { 1 * S, 924 * S }, { 1 * S, 921 * S }, "2000000000", "-", "-" },
        /* longer than the interval only */
        { "{\"totals\":true}",
          { 1 * S, 44 * S },
          { 1 * S, 40 * S },
          "null",
          "-",
          "implausible: these threads cannot have done that much in the time between" },
        { "{\"window\":true}", { 1 * S, 44 * S }, { 1 * S, 40 * S }, "3000000000", "-", "-" },
        { "{\"window\":true}",
          { 1 * S, 44 * S },
          { 1 * S, 1 * S },
          "null",
          "1",
          "before: the other snapshot lacks it for these threads; after: implausible: more than "
          "the age of these threads or the interval allows" },
};

START_TEST(a_difference_is_what_can_have_been_done) {
        FixtureSnapshot sides[2] = { FIXTURE_SNAPSHOT, FIXTURE_SNAPSHOT };
        char parameters[256];
        Conversation answer;
        json_object *row;
        int fds[2];

        for (unsigned i = 0; i < 2; i++) {
                sides[i].n_threads = 1;
                sides[i].boottime_ns = (50 + 15 * i) * S;
                sides[i].end_boottime_ns = sides[i].boottime_ns + S / 10;
                sides[i].blkio_total_ns = pair_rows[_i].totals[i];
                sides[i].blkio_max_ns = pair_rows[_i].maxima[i];
                fds[i] = fixture_snapshot(&sides[i]);
        }
        (void) snprintf(parameters, sizeof(parameters),
                        "{\"before\":{\"fileDescriptor\":0},\"after\":{\"fileDescriptor\":1},"
                        "\"view\":%s}",
                        pair_rows[_i].view);
        converse(COMPARE, parameters, true, fds, 2, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        row = row_of(&answer, "metrics", "blkio_delay_total_ns");
        ck_assert_str_eq(text_of(row, "delta"), pair_rows[_i].delta);
        ck_assert_str_eq(text_of(row, "implausible"), pair_rows[_i].implausible);
        ck_assert_str_eq(text_of(row, "reason"), pair_rows[_i].reason);
        conversation_done(&answer);
        for (unsigned i = 0; i < 2; i++)
                (void) close(fds[i]);
}
END_TEST

/* Conversions pass on what the kernel said. */
START_TEST(the_file_keeps_what_the_kernel_said) {
        _cleanup_(freep) Order *order = order_new(ORDER_CONVERT);
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fds[2], output = fixture_file("", 0);
        Conversation answer;
        char *text;
        size_t n;

        snapshot.end_boottime_ns = snapshot.boottime_ns + S;
        snapshot.blkio_total_ns = snapshot.blkio_max_ns = 900 * S;
        fds[0] = fixture_snapshot(&snapshot);
        fds[1] = dup(output);
        order->analysis.n[0] = 1;
        order->analysis.subjects[0].from.fd = 1;
        order->analysis.output = 2;
        order->analysis.format = ORDER_FORMAT_NDJSON;
        obey(order, fds, 2, WORKER_FREE, &answer);
        ck_assert_msg(!answer.error, "%s", answer.error);
        text = fixture_bytes(output, &n);
        ck_assert_ptr_nonnull(strstr(text, "900000000000"));
        free(text);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
        (void) close(output);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("judged-view");
        TCase *views = tcase_create("views");

        tcase_add_loop_test(views, a_view_believes_only_what_can_be, 0, ELEMENTSOF(show_rows));
        tcase_add_loop_test(views, a_difference_is_what_can_have_been_done, 0,
                            ELEMENTSOF(pair_rows));
        tcase_add_test(views, the_file_keeps_what_the_kernel_said);
        suite_add_tcase(suite, views);
        return check_main(suite);
}
