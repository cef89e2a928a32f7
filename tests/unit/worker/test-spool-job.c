/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <dirent.h>
#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"
#include "spool/spool.h"

#define LIMITS "\"limits\":{\"maxBytes\":0,\"keepFreeBytes\":0,\"keepFreeFiles\":0,\"maxAgeNs\":0}"
#define ME "\"uid\":1000"

static char spool_path_text[] = "/tmp/ctprof-test-XXXXXX";

static void spool_setup(void) {
        (void) strcpy(spool_path_text, "/tmp/ctprof-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(spool_path_text));
}

static size_t spool_empty(void) {
        DIR *directory = opendir(spool_path_text);
        struct dirent *entry;
        size_t n = 0;

        ck_assert_ptr_nonnull(directory);
        while ((entry = readdir(directory))) {
                if (entry->d_type != DT_REG)
                        continue;
                (void) unlinkat(dirfd(directory), entry->d_name, 0);
                n++;
        }
        (void) closedir(directory);
        return n;
}

static void spool_teardown(void) {
        (void) spool_empty();
        (void) rmdir(spool_path_text);
}

static int spool_directory(void) {
        int fd = open(spool_path_text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

static bool spool_has(const char *name) {
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/%s.ctprof.zst", spool_path_text, name);
        return access(path, F_OK) == 0;
}

/* A snapshot file in the spool, unnamed yet. */
static int spool_file(const char *name) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int from, to, directory = spool_directory();
        Spool *spool;
        char *bytes;
        size_t n;

        snapshot.name = name;
        from = fixture_snapshot(&snapshot);
        bytes = fixture_bytes(from, &n);
        ck_assert_int_eq(spool_adopt(directory, spool_path_text, &spool), 0);
        ck_assert_int_eq(spool_temporary(spool, &to), 0);
        ck_assert_int_eq(pwrite(to, bytes, n, 0), (ssize_t) n);
        (void) spool_free(spool);
        (void) close(from);
        free(bytes);
        return to;
}

static void spool_call(const char *method, const char *parameters, int file, Conversation *ret) {
        int fds[] = { spool_directory(), file };

        converse("spool", method, parameters, false, fds, file >= 0 ? 2 : 1, WORKER_FREE, ret);
        (void) close(fds[0]);
}

/* Publishes a snapshot of that name; uid 1000 owns it. */
static void publish(const char *name) {
        int file = spool_file(name);
        char parameters[256];
        Conversation answer;

        (void) snprintf(parameters, sizeof(parameters),
                        "{\"directory\":0,\"file\":1,\"name\":\"%s\",\"replace\":false," ME
                        "," LIMITS ",\"spoolPath\":\"/x\"}",
                        name);
        spool_call("io.ctprof.Job.Publish", parameters, file, &answer);
        ck_assert_msg(!answer.error, "%s", answer.error);
        ck_assert_str_eq(json_string_at(json_object_array_get_idx(
                                                json_path(answer.replies[0], "snapshots", NULL), 0),
                                        "name"),
                         name);
        conversation_done(&answer);
        (void) close(file);
        ck_assert(spool_has(name));
}

static void must_fail(const char *method, const char *parameters, int file, const char *error) {
        Conversation answer;

        spool_call(method, parameters, file, &answer);
        ck_assert_ptr_nonnull(answer.error);
        ck_assert_str_eq(answer.error, error);
        conversation_done(&answer);
}

START_TEST(a_file_is_published_under_its_name) {
        publish("a");
        publish("b");
        ck_assert_uint_eq(spool_empty(), 2);
}
END_TEST

static const struct {
        const char *parameters, *error;
} publish_rows[] = {
        { "{\"directory\":0,\"file\":1,\"name\":\"taken\",\"replace\":false," ME "," LIMITS "}",
          "io.ctprof.Profiler.SnapshotExists" },
        { "{\"directory\":0,\"file\":1,\"name\":\"taken\",\"replace\":true,\"uid\":7," LIMITS "}",
          "org.varlink.service.PermissionDenied" },
        { "{\"directory\":0,\"file\":1,\"name\":\"other\",\"replace\":true," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"file\":1,\"name\":\".taken\",\"replace\":true," ME "," LIMITS "}",
          "io.ctprof.Profiler.InvalidName" },
        { "{\"directory\":0,\"file\":1,\"name\":\"taken\",\"replace\":true," ME
          ",\"limits\":{\"maxBytes\":10,\"keepFreeBytes\":0,\"keepFreeFiles\":0,\"maxAgeNs\":0}}",
          "io.ctprof.Profiler.SpoolFull" },
        { "{\"directory\":0,\"file\":1,\"name\":\"taken\",\"replace\":true," ME
          ",\"limits\":{\"maxBytes\":10}}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"file\":9,\"name\":\"taken\",\"replace\":true," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
};

START_TEST(what_may_not_be_published_changes_nothing) {
        int file = spool_file("taken");

        publish("taken");
        must_fail("io.ctprof.Job.Publish", publish_rows[_i].parameters, file,
                  publish_rows[_i].error);
        ck_assert(spool_has("taken"));
        ck_assert_uint_eq(spool_empty(), 1);
        (void) close(file);
}
END_TEST

START_TEST(only_snapshots_are_published) {
        int directory = spool_directory(), file;
        Spool *spool;

        ck_assert_int_eq(spool_adopt(directory, spool_path_text, &spool), 0);
        ck_assert_int_eq(spool_temporary(spool, &file), 0);
        (void) spool_free(spool);
        must_fail("io.ctprof.Job.Publish",
                  "{\"directory\":0,\"file\":1,\"name\":\"x\",\"replace\":true," ME "," LIMITS "}",
                  file, "io.ctprof.Profiler.SnapshotUnreadable");
        ck_assert_uint_eq(spool_empty(), 0);
        (void) close(file);
}
END_TEST

START_TEST(nothing_is_published_for_who_hung_up) {
        ConversationServer server = { .kind = JOB_SPOOL, .confinement = WORKER_FREE };
        int pair[2], fds[] = { spool_directory(), spool_file("a") };
        FrameStream *stream;

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(
                frame_stream_new(pair[0], LIMIT_REPLY_BYTES, LIMIT_QUEUED_BYTES, 1, &stream), 0);
        conversation_send(stream, "io.ctprof.Job.Publish",
                          "{\"directory\":0,\"file\":1,\"name\":\"a\"," ME "," LIMITS "}", false,
                          fds, 2);
        (void) frame_stream_free(stream);
        server.fd = pair[1];
        ck_assert_int_eq(conversation_serve(&server), 0);
        ck_assert_uint_eq(spool_empty(), 0);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

START_TEST(names_are_removed_together) {
        Conversation answer;

        publish("a");
        publish("b");
        spool_call("io.ctprof.Job.Remove", "{\"directory\":0,\"names\":[\"a\",\"b\",\"a\"]," ME "}",
                   -1, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(json_object_array_length(json_path(answer.replies[0], "snapshots", NULL)),
                          2);
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 0);
}
END_TEST

static const struct {
        const char *parameters, *error;
} remove_rows[] = {
        { "{\"directory\":0,\"names\":[\"a\",\"nothing\"]," ME "}",
          "io.ctprof.Profiler.NoSuchSnapshot" },
        { "{\"directory\":0,\"names\":[\"a\",\"b\"],\"uid\":7}",
          "org.varlink.service.PermissionDenied" },
        { "{\"directory\":0,\"names\":[\"a\",7]," ME "}", "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"names\":\"a\"," ME "}", "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"names\":[\"a\"]}", "org.varlink.service.InvalidParameter" },
};

START_TEST(all_names_or_none_are_removed) {
        publish("a");
        publish("b");
        must_fail("io.ctprof.Job.Remove", remove_rows[_i].parameters, -1, remove_rows[_i].error);
        ck_assert_uint_eq(spool_empty(), 2);
}
END_TEST

START_TEST(what_was_meant_perhaps_is_told) {
        Conversation answer;

        publish("before");
        spool_call("io.ctprof.Job.Remove", "{\"directory\":0,\"names\":[\"befor\"]," ME "}", -1,
                   &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.NoSuchSnapshot");
        ck_assert_str_eq(json_string_at(answer.replies[0], "nearest"), "before");
        conversation_done(&answer);
}
END_TEST

START_TEST(root_removes_what_others_made) {
        Conversation answer;

        publish("a");
        spool_call("io.ctprof.Job.Remove", "{\"directory\":0,\"names\":[\"latest\"],\"uid\":0}", -1,
                   &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 0);
}
END_TEST

START_TEST(a_damaged_snapshot_can_be_removed) {
        Conversation answer;
        char path[128];
        FILE *file;

        publish("good");
        (void) snprintf(path, sizeof(path), "%s/bad.ctprof.zst", spool_path_text);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        (void) fputs("hello", file);
        (void) fclose(file);
        spool_call("io.ctprof.Job.Remove",
                   "{\"directory\":0,\"names\":[\"good\",\"bad\"],\"uid\":0}", -1, &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 0);
}
END_TEST

START_TEST(a_renamed_snapshot_is_tagged) {
        json_object *head;
        Conversation answer;

        publish("a");
        spool_call("io.ctprof.Job.Rename",
                   "{\"directory\":0,\"name\":\"a\",\"newName\":\"b\"," ME "}", -1, &answer);
        ck_assert_ptr_null(answer.error);
        head = json_object_array_get_idx(json_path(answer.replies[0], "snapshots", NULL), 0);
        ck_assert_str_eq(json_string_at(head, "name"), "b");
        ck_assert(json_object_get_boolean(json_path(head, "tagged", NULL)));
        ck_assert_str_eq(json_string_at(answer.replies[0], "oldName"), "a");
        conversation_done(&answer);
        ck_assert(spool_has("b"));
        ck_assert_uint_eq(spool_empty(), 1);
}
END_TEST

static const struct {
        const char *parameters, *error;
} rename_rows[] = {
        { "{\"directory\":0,\"name\":\"a\",\"newName\":\"b\"," ME "}",
          "io.ctprof.Profiler.SnapshotExists" },
        { "{\"directory\":0,\"name\":\"c\",\"newName\":\"d\"," ME "}",
          "io.ctprof.Profiler.NoSuchSnapshot" },
        { "{\"directory\":0,\"name\":\"a\",\"newName\":\"latest\"," ME "}",
          "io.ctprof.Profiler.InvalidName" },
        { "{\"directory\":0,\"name\":\"a\",\"newName\":\"d\",\"uid\":7}",
          "org.varlink.service.PermissionDenied" },
        { "{\"directory\":0,\"name\":\"a\"," ME "}", "org.varlink.service.InvalidParameter" },
};

START_TEST(what_may_not_be_renamed_stays) {
        publish("a");
        publish("b");
        must_fail("io.ctprof.Job.Rename", rename_rows[_i].parameters, -1, rename_rows[_i].error);
        ck_assert(spool_has("a"));
        ck_assert_uint_eq(spool_empty(), 2);
}
END_TEST

START_TEST(left_overs_are_cleaned_away) {
        Conversation answer;
        char path[128];
        FILE *file;

        publish("a");
        (void) snprintf(path, sizeof(path), "%s/.ctprof-new-0123456789abcdef", spool_path_text);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        (void) fclose(file);
        spool_call("io.ctprof.Job.Clean", "{\"directory\":0,\"spoolPath\":\"/x\"}", -1, &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        ck_assert(spool_has("a"));
        ck_assert_uint_eq(spool_empty(), 1);
}
END_TEST

/* What a capture refuses before it reads anything. */
static const struct {
        const char *parameters, *error;
} capture_rows[] = {
        { "{\"directory\":0,\"name\":\"taken\",\"tagged\":true," ME "," LIMITS "}",
          "io.ctprof.Profiler.SnapshotExists" },
        { "{\"directory\":0,\"name\":\"taken\",\"replace\":true,\"uid\":7," LIMITS "}",
          "org.varlink.service.PermissionDenied" },
        { "{\"directory\":0,\"name\":\"a/b\"," ME "," LIMITS "}",
          "io.ctprof.Profiler.InvalidName" },
        { "{\"directory\":0,\"name\":\"x\"," ME
          ",\"limits\":{\"maxBytes\":10,\"keepFreeBytes\":0,\"keepFreeFiles\":0,\"maxAgeNs\":0}}",
          "io.ctprof.Profiler.SpoolFull" },
        { "{\"directory\":0,\"name\":\"x\"," LIMITS "}", "org.varlink.service.InvalidParameter" },
        { "{\"name\":\"x\"," ME "," LIMITS "}", "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"selfPids\":[0]," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"selfPids\":[2147483648]," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"smaps\":1," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
};

START_TEST(a_capture_that_cannot_be_kept_is_not_taken) {
        int directory = spool_directory();
        Conversation answer;

        publish("taken");
        converse("capture", "io.ctprof.Job.Capture", capture_rows[_i].parameters, true, &directory,
                 1, WORKER_FREE, &answer);
        ck_assert_ptr_nonnull(answer.error);
        ck_assert_str_eq(answer.error, capture_rows[_i].error);
        ck_assert_uint_eq(answer.n, 1); /* not even progress */
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 1);
        (void) close(directory);
}
END_TEST

START_TEST(a_removed_spool_is_unavailable) {
        int directory = spool_directory();
        Conversation answer;

        ck_assert_int_eq(rmdir(spool_path_text), 0);
        converse("capture", "io.ctprof.Job.Capture",
                 "{\"directory\":0,\"name\":\"x\"," ME "," LIMITS "}", true, &directory, 1,
                 WORKER_FREE, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.SpoolUnavailable");
        ck_assert_ptr_nonnull(json_string_at(answer.replies[0], "reason"));
        conversation_done(&answer);
        (void) close(directory);
        ck_assert_int_eq(mkdir(spool_path_text, 0700), 0); /* for who cleans up */
}
END_TEST

static TCase *tcase_with_spool(Suite *suite, const char *name) {
        TCase *tcase = tcase_create(name);

        tcase_add_checked_fixture(tcase, spool_setup, spool_teardown);
        suite_add_tcase(suite, tcase);
        return tcase;
}

int main(void) {
        Suite *suite = suite_create("spool-job");
        TCase *publishing = tcase_with_spool(suite, "publish");
        TCase *removing = tcase_with_spool(suite, "remove");
        TCase *renaming = tcase_with_spool(suite, "rename");
        TCase *cleaning = tcase_with_spool(suite, "clean");
        TCase *capture = tcase_with_spool(suite, "capture");

        tcase_add_test(publishing, a_file_is_published_under_its_name);
        tcase_add_loop_test(publishing, what_may_not_be_published_changes_nothing, 0,
                            ELEMENTSOF(publish_rows));
        tcase_add_test(publishing, only_snapshots_are_published);
        tcase_add_test(publishing, nothing_is_published_for_who_hung_up);
        tcase_add_test(removing, names_are_removed_together);
        tcase_add_loop_test(removing, all_names_or_none_are_removed, 0, ELEMENTSOF(remove_rows));
        tcase_add_test(removing, what_was_meant_perhaps_is_told);
        tcase_add_test(removing, root_removes_what_others_made);
        tcase_add_test(removing, a_damaged_snapshot_can_be_removed);
        tcase_add_test(renaming, a_renamed_snapshot_is_tagged);
        tcase_add_loop_test(renaming, what_may_not_be_renamed_stays, 0, ELEMENTSOF(rename_rows));
        tcase_add_test(cleaning, left_overs_are_cleaned_away);
        tcase_add_loop_test(capture, a_capture_that_cannot_be_kept_is_not_taken, 0,
                            ELEMENTSOF(capture_rows));
        tcase_add_test(capture, a_removed_spool_is_unavailable);
        return check_main(suite);
}
