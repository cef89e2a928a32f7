/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls about what is in the spool: views, the list and its index, changes, exports and imports. */
#include "service-fixture.h"

#include <grp.h>
#include <sys/wait.h>

/* reading */

START_TEST(an_analysis_gets_descriptors_and_the_view) {
        const char *answer;

        bench_add(&bench, "a", 1);
        bench_send(caller,
                   CALL_MORE("Show", "{\"snapshot\":{\"name\":\"latest\"},\"view\":{\"limit\":3}}"),
                   NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"groups\"");
        ck_assert_has(bench_receive(&bench, caller), "\"groups\"");
        answer = bench_receive(&bench, caller);
        ck_assert_has(answer, "\"given\":{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"a\"},"
                              "\"limit\":3},\"fds\":1,\"more\":true");
}
END_TEST

START_TEST(both_ends_of_an_interval_are_resolved) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const char *answer;

        bench_add(&bench, "a", 1);
        bench_add(&bench, "b", 2);
        bench_send(caller,
                   CALL_MORE("Show", "{\"snapshot\":{\"name\":\"latest~1\",\"to\":{\"name\":"
                                     "\"latest\"}}}"),
                   NULL, 0);
        for (answer = ""; !strstr(answer, "\"given\"");)
                answer = bench_receive(&bench, caller);
        ck_assert_has(answer,
                      "\"given\":{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"a\","
                      "\"to\":{\"fileDescriptor\":1,\"label\":\"b\"}},\"limit\":40},\"fds\":2");
        bench_send(caller,
                   CALL_MORE("Compare",
                             "{\"before\":{\"name\":\"a\",\"to\":{\"fileDescriptor\":0,\"label\":"
                             "\"mine\"}},\"after\":{\"name\":\"b\"}}"),
                   &fd, 1);
        ck_assert_has(bench_receive(&bench, caller),
                      "{\"before\":{\"fileDescriptor\":0,\"label\":\"a\",\"to\":{"
                      "\"fileDescriptor\":1,\"label\":\"mine\"}},\"after\":{\"fileDescriptor\":2,"
                      "\"label\":\"b\"},\"limit\":40},\"fds\":3");
}
END_TEST

START_TEST(an_interval_has_snapshots_at_its_ends) {
        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"to\":{\"name\":"
                                             "\"nobody\"}}}")),
                      "\"name\":\"nobody\"");
        ck_assert_has(call(CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"to\":{\"name\":\"a\","
                                             "\"to\":{\"name\":\"a\"}}}}")),
                      "InvalidParameter\",\"parameters\":{\"parameter\":\"to\"");
        ck_assert_has(call(CALL_MORE("Show", "{\"snapshot\":{\"name\":\"a\",\"to\":{}}}")),
                      "InvalidParameter\",\"parameters\":{\"parameter\":\"to\"");
}
END_TEST

START_TEST(a_file_of_the_caller_is_passed_on) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        bench_send(caller, CALL("Info", "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"mine\"}}"),
                   &fd, 1);
        ck_assert_has(bench_receive(&bench, caller),
                      "\"given\":{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"mine\"},"
                      "\"limit\":40},\"fds\":1");
}
END_TEST

START_TEST(no_socket_of_the_caller_reaches_a_job) {
        static const char *const calls[] = {
                CALL("Info", "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"mine\"}}"),
                CALL("Import", "{\"fileDescriptor\":0,\"label\":\"mine\"}"),
        };
        static const int types[] = { SOCK_STREAM, SOCK_DGRAM };

        for (size_t i = 0; i < 2 * ELEMENTSOF(calls); i++) {
                int fd = socket(AF_UNIX, types[i % 2] | SOCK_CLOEXEC, 0);

                bench_send(caller, calls[i / 2], &fd, 1);
                ck_assert_has(bench_receive(&bench, caller),
                              "InvalidParameter\",\"parameters\":{\"parameter\":"
                              "\"fileDescriptor\"");
        }
}
END_TEST

START_TEST(a_name_near_one_that_is_there_is_suggested) {
        bench_add(&bench, "before", 1);
        ck_assert_str_eq(call(CALL("Info", "{\"snapshot\":{\"name\":\"befroe\"}}")),
                         "{\"error\":\"io.ctprof.Profiler.NoSuchSnapshot\","
                         "\"parameters\":{\"name\":\"befroe\",\"nearest\":\"before\"}}");
}
END_TEST

START_TEST(a_slow_reader_holds_up_its_own_job_only) {
        FrameStream *other = bench_connect(&bench);
        unsigned n_frames = 0;

        bench_add(&bench, "flood", 1);
        bench_send(caller, CALL_MORE("Show", "{\"snapshot\":{\"name\":\"flood\"}}"), NULL, 0);
        for (unsigned i = 0; i < 20; i++) {
                ck_assert_has(bench_call(&bench, other, CALL("List", "{}")), "\"flood\"");
                ck_assert_int_ge(sd_event_run(bench.event, 20000), 0);
        }
        ck_assert_uint_eq(bench.n_running, 1);
        /* All entries arrive once the caller reads. */
        while (!strstr(bench_receive(&bench, caller), "\"sections\""))
                n_frames++;
        ck_assert_uint_eq(n_frames, 3000);
        frame_stream_free(other);
}
END_TEST

/* The bound shrinks while the call runs: what it did is done, so its caller is told. */
static const struct {
        const char *call, *part;
} past_bound_rows[] = {
        { CALL_MORE("Capture", "{\"tag\":\"a\"}"), "\"snapshot\":{\"name\":\"a\"}" },
        { CALL("Capture", "{\"tag\":\"die-late\"}"), "JobFailed" },
        { CALL("Rename", "{\"name\":\"a\",\"newName\":\"b\"}"), "\"newName\":\"b\"" },
        { CALL("Remove", "{\"names\":[\"a\"]}"), "\"names\":[\"a\"]" },
        { CALL("Info", "{\"snapshot\":{\"name\":\"a\"}}"), "io.ctprof.Profiler.Busy" },
};

START_TEST(what_was_changed_is_told_past_the_bound) {
        UserLimits limits = user_default_limits(LIMIT_ANALYSES);
        FrameStream *other = bench_connect(&bench);
        const char *text;

        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("List", "{}")), "\"a\"");
        /* More than the sockets take, and nobody reads it. */
        for (unsigned i = 0; i < 50; i++) {
                bench_send(caller, CALL("MetricList", "{}"), NULL, 0);
                while (sd_event_run(bench.event, 0) > 0)
                        ;
        }
        bench_send(other, past_bound_rows[_i].call, NULL, 0);
        bench_await(&bench, 1, 0);
        limits.of_user[USE_BYTES] = 4096;
        bench.users->limits = limits;
        do
                text = bench_receive(&bench, other);
        while (strstr(text, "\"progress\""));
        ck_assert_has(text, past_bound_rows[_i].part);
        frame_stream_free(other);
}
END_TEST

START_TEST(one_user_leaves_one_analysis_to_others) {
        FrameStream *callers[LIMIT_ANALYSES];

        bench_add(&bench, "hang", 1);
        for (unsigned i = 0; i < ELEMENTSOF(callers); i++) {
                callers[i] = bench_connect(&bench);
                bench_send(callers[i], CALL("Info", "{\"snapshot\":{\"name\":\"hang\"}}"), NULL, 0);
        }
        bench_await(&bench, LIMIT_ANALYSES - 1, 1);
        for (unsigned i = 0; i < ELEMENTSOF(callers); i++)
                frame_stream_free(callers[i]);
}
END_TEST

START_TEST(the_list_is_newest_first_and_bounded_in_time) {
        char path[128];
        int fd;

        bench_add(&bench, "old", 100);
        bench_add(&bench, "new", 300);
        bench_add(&bench, "middle", 200);
        ck_assert_has(call(CALL("List", "{\"sinceRealtimeNs\":200,\"untilRealtimeNs\":200}")),
                      "{\"snapshots\":[{\"name\":\"middle\"");
        ck_assert_has_not(call(CALL("List", "{\"sinceRealtimeNs\":200}")), "old");
        ck_assert_has_not(call(CALL("List", "{\"untilRealtimeNs\":299}")), "new");

        (void) snprintf(path, sizeof(path), "%s/broken" SNAPSHOT_FILE_SUFFIX, bench.path);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_eq(write(fd, "broken", 6), 6);
        fd_close(fd);
        ck_assert_has(call(CALL("List", "{}")),
                      "\"unreadable\":[{\"name\":\"broken\",\"ok\":false,");
        ck_assert_has(call(CALL("Export", "{\"snapshot\":{\"name\":\"broken\"}}")),
                      "io.ctprof.Profiler.SnapshotUnreadable");
}
END_TEST

START_TEST(a_list_counts_for_who_asked) {
        UserLimits limits = user_default_limits(LIMIT_ANALYSES);
        char name[16];

        for (unsigned i = 0; i < 20; i++) {
                (void) snprintf(name, sizeof(name), "s%u", i);
                bench_add(&bench, name, i);
        }
        /* Less than the heads of twenty snapshots take. */
        limits.of_user[USE_BYTES] = 8192;
        bench.users->limits = limits;
        ck_assert_has(call(CALL("List", "{}")), "takes more memory");
        limits.of_user[USE_BYTES] = 1 << 20;
        bench.users->limits = limits;
        ck_assert_has(call(CALL("List", "{}")), "\"s19\"");
}
END_TEST

START_TEST(all_of_the_spool_is_verified_a_few_at_a_time) {
        const unsigned n = LIMIT_SNAPSHOTS_PER_CALL + 3;
        unsigned n_results = 0;
        const char *answer;
        char name[16];

        ck_assert_str_eq(call(CALL("Verify", "{\"snapshots\":[]}")),
                         "{\"parameters\":{\"results\":[]}}");
        for (unsigned i = 0; i < n; i++) {
                (void) snprintf(name, sizeof(name), "s%u", i);
                bench_add(&bench, name, i + 1);
        }
        answer = call(CALL("Verify", "{\"snapshots\":[]}"));
        ck_assert_has(answer, "{\"parameters\":{\"results\":[{\"name\":\"s66\",\"ok\":true}");
        for (const char *at = answer; (at = strstr(at, "\"ok\":true")); at++)
                n_results++;
        ck_assert_uint_eq(n_results, n);

        bench_send(caller, CALL_MORE("Verify", "{\"snapshots\":[]}"), NULL, 0);
        ck_assert_has(bench_receive(&bench, caller), "\"continues\":true");
        answer = bench_receive(&bench, caller);
        ck_assert_has(answer, "\"s0\"");
        ck_assert_has_not(answer, "\"continues\":true");
}
END_TEST

START_TEST(named_ones_are_verified_in_one_call) {
        bench_add(&bench, "a", 1);
        bench_add(&bench, "b", 2);
        ck_assert_str_eq(
                call(CALL("Verify", "{\"snapshots\":[{\"name\":\"a\"},{\"name\":\"b\"}]}")),
                "{\"parameters\":{\"results\":[{\"name\":\"a\",\"ok\":true},"
                "{\"name\":\"b\",\"ok\":true}]}}");
}
END_TEST

/* changing, leaving and entering */

START_TEST(changes_are_ordered_with_the_uid_of_the_caller) {
        char uid[32];

        (void) snprintf(uid, sizeof(uid), "\"uid\":%u", getuid());
        bench_add(&bench, "older", 2);
        bench_add(&bench, "newer", 1);
        ck_assert_has(call(CALL("Remove", "{\"names\":[\"a\",\"latest\",\"latest~1\"]}")),
                      "\"given\":{\"names\":[\"a\",\"newer\",\"older\"]");
        ck_assert_has(call(CALL("Rename", "{\"name\":\"latest~1\",\"newName\":\"b\"}")),
                      "\"given\":{\"name\":\"older\",\"newName\":\"b\"");
        ck_assert_has(call(CALL("Remove", "{\"names\":[\"latest~2\"]}")),
                      "NoSuchSnapshot\",\"parameters\":{\"name\":\"latest~2\"");
        ck_assert_has(call(CALL("Remove", "{\"names\":[]}")), uid);
        ck_assert_has(call(CALL("Rename", "{\"name\":\"a\",\"newName\":\"b\"}")),
                      "\"given\":{\"name\":\"a\",\"newName\":\"b\"");
}
END_TEST

START_TEST(a_copy_that_is_renamed_is_reserved) {
        FrameStream *other = bench_connect(&bench);
        char path[128], expected[64];
        struct stat st;

        bench_add(&bench, "hang", 1);
        (void) snprintf(path, sizeof(path), "%s/hang" SNAPSHOT_FILE_SUFFIX, bench.path);
        ck_assert_int_eq(stat(path, &st), 0);
        (void) snprintf(expected, sizeof(expected), "\"reservedBytes\":%llu,",
                        (unsigned long long) st.st_size);
        ck_assert_has(call(CALL("List", "{}")), "\"hang\""); /* no survey is due any more */
        bench_send(other, CALL("Rename", "{\"name\":\"hang\",\"newName\":\"b\"}"), NULL, 0);
        bench_await(&bench, 1, 0);
        ck_assert_has(call(CALL("Capture", "{\"tag\":\"x\"}")), expected);
        frame_stream_free(other);
}
END_TEST

/* the index */

static void setup_with(const char *variable) {
        teardown();
        ck_assert_int_eq(setenv(variable, "1", 1), 0);
        setup();
        ck_assert_int_eq(unsetenv(variable), 0);
}

/* The main process reads no file: it waits for the job, and serves others meanwhile. */
START_TEST(who_needs_the_index_waits_and_nobody_else_does) {
        static const char *const waiting[] = {
                CALL("List", "{}"),
                CALL("Info", "{\"snapshot\":{\"name\":\"latest\"}}"),
                CALL("Verify", "{\"snapshots\":[]}"),
                CALL("Export", "{\"snapshot\":{\"name\":\"a\"}}"),
                CALL("Status", "{}"),
        };
        FrameStream *callers[ELEMENTSOF(waiting)], *other;

        setup_with("FAKE_SURVEY_HANGS");
        bench_add(&bench, "a", 1);
        for (size_t i = 0; i < ELEMENTSOF(waiting); i++) {
                callers[i] = bench_connect(&bench);
                bench_send(callers[i], waiting[i], NULL, 0);
        }
        other = bench_connect(&bench);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_has(
                        bench_call(&bench, other, "{\"method\":\"org.varlink.service.GetInfo\"}"),
                        "\"interfaces\"");
        ck_assert_has(bench_call(&bench, other, CALL("Capture", "{\"tag\":\"b\"}")),
                      "\"snapshot\":{\"name\":\"b\"}");
        /*
         * One survey is for all of them. The two children of the capture, which reads and which
         * publishes, may not be reaped yet.
         */
        ck_assert_uint_le(bench_n_children(&bench), 3);
        for (size_t i = 0; i < ELEMENTSOF(waiting); i++)
                frame_stream_free(callers[i]);
        frame_stream_free(other);
}
END_TEST

START_TEST(without_a_survey_there_is_an_error) {
        setup_with("FAKE_SURVEY_FAILS");
        for (unsigned i = 0; i < 2; i++)
                ck_assert_has(call(CALL("List", "{}")),
                              "\"error\":\"io.ctprof.Profiler.JobFailed\"");
        ck_assert_has(call("{\"method\":\"org.varlink.service.GetInfo\"}"), "\"interfaces\"");
}
END_TEST

START_TEST(what_others_put_into_the_spool_is_seen) {
        char path[128];

        ck_assert_has(call(CALL("List", "{}")), "\"snapshots\":[]");
        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("List", "{}")), "\"snapshots\":[{\"name\":\"a\"");
        (void) snprintf(path, sizeof(path), "%s/a" SNAPSHOT_FILE_SUFFIX, bench.path);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_has(call(CALL("Info", "{\"snapshot\":{\"name\":\"a\"}}")), "NoSuchSnapshot");
}
END_TEST

/* Its descriptors wait with it. */
START_TEST(a_call_with_files_may_wait_for_the_survey) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        bench_add(&bench, "a", 1); /* the first call finds an index that is not filled */
        bench_send(caller,
                   CALL_MORE("Compare", "{\"before\":{\"name\":\"latest\"},"
                                        "\"after\":{\"fileDescriptor\":0,\"label\":\"mine\"}}"),
                   &fd, 1);
        ck_assert_has(bench_receive(&bench, caller),
                      "\"after\":{\"fileDescriptor\":1,\"label\":\"mine\"},");
}
END_TEST

/* Whether a process of another user, which got @fd, opens it again to write. Only root can try. */
static bool another_user_opens_to_write(int fd) {
        char path[64];
        int status;
        pid_t pid;

        if (geteuid() != 0)
                return false;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        pid = fork();
        if (pid == 0) {
                if (setgroups(0, NULL) < 0 || setresgid(65533, 65533, 65533) < 0 ||
                    setresuid(65533, 65533, 65533) < 0)
                        _exit(2);
                _exit(open(path, O_RDWR | O_CLOEXEC) >= 0 || open(path, O_WRONLY | O_TRUNC) >= 0);
        }
        ck_assert_int_gt(pid, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        return WEXITSTATUS(status) == 1;
}

START_TEST(an_export_is_the_file_itself_and_cannot_be_written) {
        char path[128], ours[4096], theirs[4096];
        ssize_t n;
        int fd, exported;

        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("Export", "{\"snapshot\":{\"name\":\"a\"}}")),
                      "{\"parameters\":{\"snapshot\":{\"name\":\"a\"");
        exported = frame_stream_take_fd(caller, 0);
        ck_assert_int_ge(exported, 0);
        ck_assert_int_eq(write(exported, "x", 1), -1);
        ck_assert(!another_user_opens_to_write(exported));
        (void) snprintf(path, sizeof(path), "%s/a" SNAPSHOT_FILE_SUFFIX, bench.path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = read(fd, ours, sizeof(ours));
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(pread(exported, theirs, sizeof(theirs), 0), n);
        ck_assert_mem_eq(ours, theirs, (size_t) n);
        fd_close(fd);
        fd_close(exported);
}
END_TEST

START_TEST(a_conversion_is_a_file_that_cannot_be_written) {
        char text[8] = "";
        int fd;

        bench_add(&bench, "a", 1);
        ck_assert_has(call(CALL("Export", "{\"snapshot\":{\"name\":\"a\"},\"format\":\"ndjson\"}")),
                      "\"fileDescriptor\":0");
        fd = frame_stream_take_fd(caller, 0);
        ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 7);
        ck_assert_str_eq(text, "written");
        ck_assert_int_eq(write(fd, "x", 1), -1);
        fd_close(fd);
}
END_TEST

static const char *import(const char *text) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        bench_send(caller, text, &fd, 1);
        return bench_receive(&bench, caller);
}

START_TEST(an_import_is_copied_by_one_job_and_published_by_another) {
        bench_add(&bench, "taken", 1);
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"tag\":\"x\"}")),
                      "{\"parameters\":{\"snapshots\":[{\"name\":\"x\"}]}}");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"tag\":\"taken\"}")),
                      "io.ctprof.Profiler.SnapshotExists");
        /* Without a tag the label becomes the name and must be a valid one. */
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"label\":\"own\"}")),
                      "{\"parameters\":{\"snapshots\":[{\"name\":\"own\"}]}}");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"label\":\"taken\"}")),
                      "io.ctprof.Profiler.SnapshotExists");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0,\"label\":\"no/name\"}")),
                      "io.ctprof.Profiler.InvalidName");
        ck_assert_has(import(CALL("Import", "{\"fileDescriptor\":0}")), "InvalidParameter");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("service-spool");
        TCase *reading = tcase_create("reading"), *files = tcase_create("files");
        tcase_add_checked_fixture(reading, setup, teardown);
        tcase_add_test(reading, an_analysis_gets_descriptors_and_the_view);
        tcase_add_test(reading, both_ends_of_an_interval_are_resolved);
        tcase_add_test(reading, an_interval_has_snapshots_at_its_ends);
        tcase_add_test(reading, a_file_of_the_caller_is_passed_on);
        tcase_add_test(reading, no_socket_of_the_caller_reaches_a_job);
        tcase_add_test(reading, a_name_near_one_that_is_there_is_suggested);
        tcase_add_test(reading, a_slow_reader_holds_up_its_own_job_only);
        tcase_add_loop_test(reading, what_was_changed_is_told_past_the_bound, 0,
                            ELEMENTSOF(past_bound_rows));
        tcase_add_test(reading, one_user_leaves_one_analysis_to_others);
        tcase_add_test(reading, the_list_is_newest_first_and_bounded_in_time);
        tcase_add_test(reading, a_list_counts_for_who_asked);
        tcase_add_test(reading, all_of_the_spool_is_verified_a_few_at_a_time);
        tcase_add_test(reading, named_ones_are_verified_in_one_call);
        tcase_add_checked_fixture(files, setup, teardown);
        tcase_add_test(files, changes_are_ordered_with_the_uid_of_the_caller);
        tcase_add_test(files, a_copy_that_is_renamed_is_reserved);
        tcase_add_test(files, who_needs_the_index_waits_and_nobody_else_does);
        tcase_add_test(files, without_a_survey_there_is_an_error);
        tcase_add_test(files, what_others_put_into_the_spool_is_seen);
        tcase_add_test(files, a_call_with_files_may_wait_for_the_survey);
        tcase_add_test(files, an_export_is_the_file_itself_and_cannot_be_written);
        tcase_add_test(files, a_conversion_is_a_file_that_cannot_be_written);
        tcase_add_test(files, an_import_is_copied_by_one_job_and_published_by_another);
        suite_add_tcase(suite, reading);
        suite_add_tcase(suite, files);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
