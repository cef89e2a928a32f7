/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <fcntl.h>
#include <limits.h>
#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

#define SHOW "io.ctprof.Profiler.Show"
#define COMPARE "io.ctprof.Profiler.Compare"
#define INFO "io.ctprof.Profiler.Info"
#define VERIFY "io.ctprof.Profiler.Verify"

#define REF(index) "{\"fileDescriptor\":" #index "}"
/* The name of a culprit may be long. */
#define LONG_KEY                                             \
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" \
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" \
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define ONE_REF "{\"snapshot\":" REF(0) "}"
#define TWO_REFS "{\"before\":" REF(0) ",\"after\":" REF(1) "}"

static const WorkerConfinement confinements[] = { WORKER_FREE, WORKER_CONFINED };

static bool skips(int loop) {
        return cannot_be_tried(confinements[loop]);
}

static void analyse(const char *method, const char *parameters, bool more, const int *fds,
                    size_t n_fds, int loop, Conversation *ret) {
        converse(method, parameters, more, fds, n_fds, confinements[loop], ret);
        ck_assert_int_eq(ret->status, 0);
}

/* Counts the elements under @key in all replies. */
static size_t count_all(const Conversation *conversation, const char *key) {
        size_t n = 0;

        for (size_t i = 0; i < conversation->n; i++) {
                json_object *list = json_object_object_get(conversation->replies[i], key);

                n += list ? json_object_array_length(list) : 0;
        }
        return n;
}

/* Finds the first reply that has @key. */
static json_object *reply_with(const Conversation *conversation, const char *key) {
        for (size_t i = 0; i < conversation->n; i++)
                if (json_object_object_get_ex(conversation->replies[i], key, NULL))
                        return conversation->replies[i];
        return NULL;
}

START_TEST(show_tells_heads_groups_and_the_end) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        json_object *first, *group, *last;
        Conversation answer;

        if (skips(_i))
                return;
        analyse(SHOW, ONE_REF, true, &fd, 1, _i, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert(answer.finished);
        first = reply_with(&answer, "snapshot");
        ck_assert_str_eq(json_string_at(json_path(first, "snapshot", NULL), "name"), "before");
        ck_assert_uint_eq(json_object_array_length(json_path(first, "sources", NULL)), _SOURCE_MAX);
        ck_assert_uint_eq(count_all(&answer, "groups"), 1);
        group = json_object_array_get_idx(json_path(reply_with(&answer, "groups"), "groups", NULL),
                                          0);
        ck_assert_str_eq(json_string_at(group, "key"), "pool");
        ck_assert_int_eq(json_object_get_int(json_path(group, "threads", NULL)), 3);
        ck_assert_int_eq(
                json_object_get_int64(json_path(group, "metrics", "run_time_ns", "value", NULL)),
                6000);
        last = answer.replies[answer.n - 1];
        ck_assert_ptr_nonnull(json_path(last, "sections", "smaps-rollup", NULL));
        ck_assert_ptr_nonnull(json_path(last, "sections", "host-pressure", NULL));
        ck_assert_int_eq(json_object_object_length(json_path(last, "sections", NULL)), 2);
        ck_assert_int_eq(json_object_get_int(json_path(last, "hiddenGroups", NULL)), 0);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

START_TEST(progress_comes_first) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        Conversation answer;
        json_object *progress;

        if (skips(_i))
                return;
        analyse(SHOW, ONE_REF, true, &fd, 1, _i, &answer);
        progress = json_path(answer.replies[0], "progress", NULL);
        ck_assert_str_eq(json_string_at(progress, "phase"), "reading");
        /* One pass or two over three threads. */
        ck_assert_int_eq(json_object_get_int(json_path(progress, "total", NULL)) % 3, 0);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

START_TEST(without_more_show_is_refused) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        Conversation answer;

        if (skips(_i))
                return;
        analyse(SHOW, ONE_REF, false, &fd, 1, _i, &answer);
        ck_assert_str_eq(answer.error, "org.varlink.service.ExpectedMore");
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

/* before, after, elapsedNs as text, sameBoot */
static const struct {
        const char *boot_after;
        uint64_t before_ns, after_ns;
        const char *elapsed;
        bool same_boot, swapped;
} boot_rows[] = {
        { FIXTURE_BOOT_ID, 5 * NSEC_PER_SEC, 7 * NSEC_PER_SEC, "2000000000", true, false },
        { FIXTURE_BOOT_ID, 7 * NSEC_PER_SEC, 5 * NSEC_PER_SEC, "2000000000", true, true },
        { FIXTURE_BOOT_ID, 5, 5, "0", true, false },
        { FIXTURE_BOOT_ID, 0, UINT64_MAX, "18446744073709551615", true, false },
        { "ffffffffffffffffffffffffffffffff", 7, 5, "null", false, false },
        { "", 7, 5, "null", false, false },
};

START_TEST(elapsed_time_needs_one_boot) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        json_object *first, *elapsed = NULL;
        Conversation answer;
        int fds[2];

        after.name = "after";
        before.boottime_ns = boot_rows[_i].before_ns;
        after.boottime_ns = boot_rows[_i].after_ns;
        after.boot_id = boot_rows[_i].boot_after;
        fds[0] = fixture_snapshot(&before);
        fds[1] = fixture_snapshot(&after);
        analyse(COMPARE, TWO_REFS, true, fds, 2, 0, &answer);
        ck_assert_ptr_null(answer.error);
        first = reply_with(&answer, "before");
        ck_assert_int_eq(json_object_get_boolean(json_path(first, "sameBoot", NULL)),
                         boot_rows[_i].same_boot);
        ck_assert(json_object_object_get_ex(first, "elapsedNs", &elapsed));
        ck_assert_str_eq(elapsed ? json_object_get_string(elapsed) : "null", boot_rows[_i].elapsed);
        ck_assert_int_eq(json_object_get_boolean(json_path(first, "swapped", NULL)),
                         boot_rows[_i].swapped);
        ck_assert_str_eq(json_string_at(json_path(first, "before", NULL), "name"),
                         boot_rows[_i].swapped ? "after" : "before");
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

START_TEST(compare_tells_both_sides_and_what_changed) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        json_object *first, *changes, *group;
        Conversation answer;
        int fds[2];

        if (skips(_i))
                return;
        after.name = "after";
        after.run_time_ns = 1500;
        after.boottime_ns = 7 * NSEC_PER_SEC;
        after.host_json =
                "{\"kernel_release\":\"6.12.1\",\"total_memory_kib\":2048,\"online_cpus\":2,"
                "\"sched_tunables\":{\"sched_rt_runtime_us\":\"-1\"},"
                "\"cpufreq_governor\":{\"0\":\"performance\",\"9\":\"powersave\"}}";
        fds[0] = fixture_snapshot(&before);
        fds[1] = fixture_snapshot(&after);
        analyse(COMPARE, TWO_REFS, true, fds, 2, _i, &answer);
        ck_assert_ptr_null(answer.error);
        first = reply_with(&answer, "before");
        ck_assert_str_eq(json_string_at(json_path(first, "after", NULL), "name"), "after");
        ck_assert_ptr_nonnull(json_path(first, "sourcesBefore", NULL));
        ck_assert_ptr_nonnull(json_path(first, "sourcesAfter", NULL));
        changes = json_path(first, "hostChanges", NULL);
        ck_assert_str_eq(
                json_object_to_json_string_ext(changes, JSON_C_TO_STRING_PLAIN),
                "[{\"key\":\"cpufreq_governor.10\",\"before\":\"powersave\",\"after\":null},"
                "{\"key\":\"sched_tunables.sched_rt_runtime_us\",\"before\":\"950000\","
                "\"after\":\"-1\"}]");
        group = json_object_array_get_idx(json_path(reply_with(&answer, "groups"), "groups", NULL),
                                          0);
        ck_assert_int_eq(
                json_object_get_int64(json_path(group, "metrics", "run_time_ns", "delta", NULL)),
                3000);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

/* What a view shows takes part in its threshold, whether or not its section is named. */
static const struct {
        const char *view, *smaps;
        uint64_t run_time_ns;
        unsigned long long n_above;
} threshold_rows[] = {
        { "{\"totals\":true,\"threshold\":50}", "{\"Rss\":12}", 1000, 0 },
        { "{\"totals\":true,\"threshold\":50}", "{\"Rss\":13}", 1000, 0 },
        { "{\"totals\":true,\"threshold\":50}", "{\"Rss\":24}", 1000, 1 },
        { "{\"totals\":true,\"threshold\":50,\"sections\":[\"smaps-rollup\"]}", "{\"Rss\":24}",
          1000, 1 },
        { "{\"totals\":true,\"threshold\":50,\"sections\":[\"primary\"]}", "{\"Rss\":24}", 1000,
          0 },
        { "{\"totals\":true,\"threshold\":50}", "{\"Rss\":12}", 900, 1 }, /* a reset */
};

START_TEST(a_threshold_is_about_all_that_is_shown) {
        FixtureSnapshot before = FIXTURE_SNAPSHOT, after = FIXTURE_SNAPSHOT;
        char parameters[256];
        Conversation answer;
        int fds[2];

        after.boottime_ns += NSEC_PER_SEC;
        after.smaps_json = threshold_rows[_i].smaps;
        after.run_time_ns = threshold_rows[_i].run_time_ns;
        fds[0] = fixture_snapshot(&before);
        fds[1] = fixture_snapshot(&after);
        (void) snprintf(parameters, sizeof(parameters),
                        "{\"before\":" REF(0) ",\"after\":" REF(1) ",\"view\":%s}",
                        threshold_rows[_i].view);
        analyse(COMPARE, parameters, true, fds, 2, 0, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(json_object_get_uint64(json_path(answer.replies[answer.n - 1],
                                                           "rowsAboveThreshold", NULL)),
                          threshold_rows[_i].n_above);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

START_TEST(large_answers_come_in_batches) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;
        size_t n_batches = 0;
        int fd;

        if (skips(_i))
                return;
        snapshot.n_threads = 500;
        fd = fixture_snapshot(&snapshot);
        analyse(SHOW, "{\"snapshot\":" REF(0) ",\"view\":{\"groupBy\":\"thread\",\"limit\":0}}",
                true, &fd, 1, _i, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(count_all(&answer, "groups"), 500);
        for (size_t i = 0; i < answer.n; i++)
                if (json_path(answer.replies[i], "groups", NULL))
                        n_batches++;
        ck_assert_uint_gt(n_batches, 1);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

START_TEST(the_limit_is_told) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;
        int fd;

        snapshot.n_threads = 50;
        fd = fixture_snapshot(&snapshot);
        analyse(SHOW, "{\"snapshot\":" REF(0) ",\"view\":{\"groupBy\":\"thread\",\"limit\":20}}",
                true, &fd, 1, _i, &answer);
        ck_assert_uint_eq(count_all(&answer, "groups"), 20);
        ck_assert_int_eq(
                json_object_get_int(json_path(answer.replies[answer.n - 1], "hiddenGroups", NULL)),
                30);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

#define N_LONG 48
#define BY_CGROUP ",\"view\":{\"groupBy\":\"cgroup\",\"limit\":1}"

/* Threads of ten names in each of @N_LONG cgroups, whose names are as long as they can be. */
static int with_long_cgroups(char side) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = 64u << 20 };

        buffer_append_text(&text, "{\"threads\":[");
        for (unsigned i = 0; i < N_LONG * 10; i++) {
                unsigned cgroup = i / 10;

                buffer_append_format(&text,
                                     "%s{\"tid\":%u,\"tgid\":%u,\"start_time_clock_ticks\":1,"
                                     "\"pcomm\":\"p\",\"comm\":\"kind-%c\","
                                     "\"cgroup\":\"/%c%c%c",
                                     i > 0 ? "," : "", i + 1, i + 1, 'a' + (char) (i % 10), side,
                                     'a' + (char) (cgroup / 16), 'a' + (char) (cgroup % 16));
                for (unsigned k = 4; k < PATH_MAX - 1; k++)
                        buffer_append_text(&text, "\\u0001");
                buffer_append_text(&text, "\"}");
        }
        ck_assert_int_eq(buffer_append_text(&text, "]}"), 0);
        return fixture_zstd(text.bytes, text.n);
}

START_TEST(long_names_of_pairs_leave_room_in_the_reply) {
        int fds[] = { with_long_cgroups('x'), with_long_cgroups('y') };
        Conversation answer;
        size_t n;

        analyse(COMPARE, "{\"before\":" REF(0) ",\"after\":" REF(1) BY_CGROUP "}", true, fds, 2, _i,
                &answer);
        ck_assert_msg(!answer.error, "%s", answer.error);
        n = count_all(&answer, "pairings");
        ck_assert(n > 0 && n < N_LONG);
        ck_assert_uint_eq(json_object_get_uint64(
                                  json_path(answer.replies[answer.n - 1], "hiddenPairings", NULL)),
                          N_LONG - n);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

START_TEST(a_label_names_what_has_no_name) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        Conversation answer;
        int fd;

        snapshot.name = "";
        fd = fixture_snapshot(&snapshot);
        analyse(INFO, "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"./x.ctprof.zst\"}}", false,
                &fd, 1, _i, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_string_at(json_path(answer.replies[0], "snapshot", NULL), "name"),
                         "x");
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

START_TEST(info_tells_head_host_and_sources) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        Conversation answer;

        if (skips(_i))
                return;
        analyse(INFO, ONE_REF, false, &fd, 1, _i, &answer);
        ck_assert_uint_eq(answer.n, 1);
        ck_assert_int_eq(
                json_object_get_int(json_path(answer.replies[0], "host", "online_cpus", NULL)), 2);
        ck_assert_int_eq(
                json_object_get_int(json_path(answer.replies[0], "snapshot", "threads", NULL)), 3);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

START_TEST(verify_has_one_result_a_file) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        bool more = _i % 2;
        const char *parameters = "{\"snapshots\":[{\"fileDescriptor\":0,\"label\":\"a\"},"
                                 "{\"fileDescriptor\":1,\"label\":\"b\"}," REF(2) "]}";
        json_object *results = json_object_new_array(), *row;
        Conversation answer;
        int fds[3];

        fds[0] = fixture_snapshot(&snapshot);
        fds[1] = fixture_file("hello", 5);
        fds[2] = fixture_snapshot(&snapshot);
        analyse(VERIFY, parameters, more, fds, 3, 0, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(answer.n, more ? 3 : 1);
        for (size_t i = 0; i < answer.n; i++) {
                row = json_path(answer.replies[i], "results", NULL);
                for (size_t j = 0; j < json_object_array_length(row); j++)
                        json_object_array_add(results,
                                              json_object_get(json_object_array_get_idx(row, j)));
        }
        ck_assert_uint_eq(json_object_array_length(results), 3);
        row = json_object_array_get_idx(results, 0);
        ck_assert_str_eq(json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN),
                         "{\"name\":\"a\",\"ok\":true,\"error\":null,\"offset\":null}");
        row = json_object_array_get_idx(results, 1);
        ck_assert_str_eq(json_string_at(row, "name"), "b");
        ck_assert(!json_object_get_boolean(json_path(row, "ok", NULL)));
        ck_assert_ptr_nonnull(json_string_at(row, "error"));
        row = json_object_array_get_idx(results, 2);
        ck_assert_str_eq(json_string_at(row, "name"), "before");
        json_object_put(results);
        conversation_done(&answer);
        for (size_t i = 0; i < 3; i++)
                (void) close(fds[i]);
}
END_TEST

START_TEST(verify_of_nothing_is_an_empty_answer) {
        Conversation answer;

        analyse(VERIFY, "{\"snapshots\":[]}", _i % 2, NULL, 0, 0, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(answer.n, 1);
        ck_assert_uint_eq(count_all(&answer, "results"), 0);
        conversation_done(&answer);
}
END_TEST

static const struct {
        const char *method, *parameters, *error, *culprit;
} call_rows[] = {
        { SHOW, "{}", "InvalidParameter", "snapshot" },
        { SHOW, "{\"snapshot\":null}", "InvalidParameter", "snapshot" },
        { SHOW, "{\"snapshot\":\"before\"}", "InvalidParameter", "snapshot" },
        { SHOW, "{\"snapshot\":{}}", "InvalidParameter", "snapshot" },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":-1}}", "InvalidParameter", "fileDescriptor" },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":1}}", "InvalidParameter", "fileDescriptor" },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":18446744073709551615}}", "InvalidParameter",
          "fileDescriptor" },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":\"0\"}}", "InvalidParameter", "fileDescriptor" },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":0,\"name\":\"x\"}}", "InvalidParameter",
          "snapshot" },
        { SHOW, "{\"snapshot\":" REF(0) ",\"veiw\":{}}", "InvalidParameter", "veiw" },
        { SHOW, "{\"snapshot\":" REF(0) ",\"" LONG_KEY "\":1}", "InvalidParameter", LONG_KEY },
        { SHOW, "{\"snapshot\":{\"fileDescriptor\":0,\"" LONG_KEY "\":1}}", "InvalidParameter",
          LONG_KEY },
        { SHOW, "{\"snapshot\":" REF(0) ",\"view\":[]}", "InvalidParameter", "view" },
        { SHOW, "{\"snapshot\":" REF(0) ",\"view\":{\"limit\":-1}}", "InvalidParameter", "view" },
        { COMPARE, "{\"before\":" REF(0) "}", "InvalidParameter", "after" },
        { COMPARE, "{\"before\":" REF(0) ",\"after\":" REF(0) "}", "InvalidParameter",
          "fileDescriptor" },
        { VERIFY, "{\"snapshots\":{}}", "InvalidParameter", "snapshots" },
        { VERIFY, "{\"snapshots\":[7]}", "InvalidParameter", "snapshots" },
        { VERIFY, "{\"snapshots\":[" REF(0) ",{\"fileDescriptor\":9}]}", "InvalidParameter",
          "fileDescriptor" },
        { INFO, "{\"snapshot\":{\"fileDescriptor\":0,\"label\":7}}", "InvalidParameter", "label" },
        { "io.ctprof.Job.Capture", "{}", "MethodNotFound", "io.ctprof.Job.Capture" },
        { "io.ctprof.Profiler.Sho", "{}", "MethodNotFound", "io.ctprof.Profiler.Sho" },
};

START_TEST(calls_are_checked) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int fd = fixture_snapshot(&snapshot);
        char error[128];
        Conversation answer;

        analyse(call_rows[_i].method, call_rows[_i].parameters, true, &fd, 1, 0, &answer);
        (void) snprintf(error, sizeof(error), "org.varlink.service.%s", call_rows[_i].error);
        ck_assert_ptr_nonnull(answer.error);
        ck_assert_str_eq(answer.error, error);
        ck_assert_str_eq(
                json_string_at(answer.replies[0], strcmp(call_rows[_i].error, "MethodNotFound") == 0
                                                          ? "method"
                                                          : "parameter"),
                call_rows[_i].culprit);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

START_TEST(who_hangs_up_ends_the_job_in_silence) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        ConversationServer server = { .kind = JOB_ANALYSIS, .confinement = WORKER_FREE };
        FrameStream *stream;
        int pair[2], fd;

        snapshot.n_threads = 2000; /* more than a socket takes at once */
        fd = fixture_snapshot(&snapshot);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(
                frame_stream_new(pair[0], LIMIT_REPLY_BYTES, LIMIT_QUEUED_BYTES, 1, &stream), 0);
        conversation_send(stream, SHOW,
                          "{\"snapshot\":" REF(0) ",\"view\":{\"groupBy\":\"thread\",\"limit\":0}}",
                          true, &fd, 1);
        (void) frame_stream_free(stream);
        server.fd = pair[1];
        ck_assert_int_eq(conversation_serve(&server), 0);
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("analysis");
        TCase *show = tcase_create("show");
        TCase *compare = tcase_create("compare");
        TCase *info = tcase_create("info");
        TCase *verify = tcase_create("verify");
        TCase *calls = tcase_create("calls");

        tcase_add_loop_test(show, show_tells_heads_groups_and_the_end, 0, 2);
        tcase_add_loop_test(show, progress_comes_first, 0, 2);
        tcase_add_loop_test(show, without_more_show_is_refused, 0, 2);
        tcase_add_loop_test(show, large_answers_come_in_batches, 0, 2);
        tcase_add_loop_test(show, the_limit_is_told, 0, 1);
        tcase_add_loop_test(compare, elapsed_time_needs_one_boot, 0, ELEMENTSOF(boot_rows));
        tcase_add_loop_test(compare, compare_tells_both_sides_and_what_changed, 0, 2);
        tcase_add_loop_test(compare, a_threshold_is_about_all_that_is_shown, 0,
                            ELEMENTSOF(threshold_rows));
        tcase_add_loop_test(compare, long_names_of_pairs_leave_room_in_the_reply, 0, 1);
        tcase_add_loop_test(info, a_label_names_what_has_no_name, 0, 1);
        tcase_add_loop_test(info, info_tells_head_host_and_sources, 0, 2);
        tcase_add_loop_test(verify, verify_has_one_result_a_file, 0, 2);
        tcase_add_loop_test(verify, verify_of_nothing_is_an_empty_answer, 0, 2);
        tcase_add_loop_test(calls, calls_are_checked, 0, ELEMENTSOF(call_rows));
        tcase_add_test(calls, who_hangs_up_ends_the_job_in_silence);
        suite_add_tcase(suite, show);
        suite_add_tcase(suite, compare);
        suite_add_tcase(suite, info);
        suite_add_tcase(suite, verify);
        suite_add_tcase(suite, calls);
        return check_main(suite);
}
