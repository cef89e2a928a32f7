/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"
#include "spool/spool.h"
#include "worker/work-spool.h"

#define LIMITS                                                                               \
        "\"limits\":{\"maxBytes\":0,\"keepFreeBytes\":0,\"keepFreeFiles\":0,\"maxAgeNs\":0," \
        "\"reservedBytes\":0,\"maxSnapshots\":0,\"maxSnapshotsPerUid\":0}"
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
          ",\"limits\":{\"maxBytes\":10,\"keepFreeBytes\":0,\"keepFreeFiles\":0,\"maxAgeNs\":0,"
          "\"reservedBytes\":0,\"maxSnapshots\":0,\"maxSnapshotsPerUid\":0}}",
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

/* As a spool job of the daemon, which has no capability: removes "a", which only root can read. */
static int child_that_removes(const char *parameters) {
        int directory = spool_directory();
        Conversation answer;

        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
                return 2;
        converse("spool", "io.ctprof.Job.Remove", parameters, false, &directory, 1, WORKER_FREE,
                 &answer);
        return answer.error ? 1 : 0;
}

START_TEST(what_only_root_can_read_is_removed_for_root) {
        static const char *const calls[] = {
                "{\"directory\":0,\"names\":[\"a\"]," ME "}",
                "{\"directory\":0,\"names\":[\"a\"],\"uid\":0}",
        };

        if (check_skips(getuid() != 0 ? "only for root" : check_lacks_filters()))
                return;
        publish("a");
        ck_assert_int_eq(chown(spool_path_text, 65534, 65534), 0);
        for (int i = 0; i < 2; i++) {
                pid_t pid = fork();
                int status;

                if (pid == 0)
                        _exit(child_that_removes(calls[i]));
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
                ck_assert_int_eq(WEXITSTATUS(status), i == 0 ? 1 : 0);
                ck_assert_int_eq(spool_has("a"), i == 0);
        }
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
#define OUTPUT "\"output\":1,"
static const struct {
        const char *parameters, *error;
} capture_rows[] = {
        { "{\"directory\":0," OUTPUT "\"name\":\"taken\",\"tagged\":true," ME "," LIMITS "}",
          "io.ctprof.Profiler.SnapshotExists" },
        { "{\"directory\":0," OUTPUT "\"name\":\"taken\",\"replace\":true,\"uid\":7," LIMITS "}",
          "org.varlink.service.PermissionDenied" },
        { "{\"directory\":0," OUTPUT "\"name\":\"a/b\"," ME "," LIMITS "}",
          "io.ctprof.Profiler.InvalidName" },
        { "{\"directory\":0," OUTPUT "\"name\":\"x\"," ME
          ",\"limits\":{\"maxBytes\":10,\"keepFreeBytes\":0,\"keepFreeFiles\":0,\"maxAgeNs\":0,"
          "\"reservedBytes\":0,\"maxSnapshots\":0,\"maxSnapshotsPerUid\":0}}",
          "io.ctprof.Profiler.SpoolFull" },
        { "{\"directory\":0," OUTPUT "\"name\":\"x\"," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{" OUTPUT "\"name\":\"x\"," ME "," LIMITS "}", "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0,\"name\":\"x\"," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0," OUTPUT "\"selfPids\":[0]," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0," OUTPUT "\"selfPids\":[2147483648]," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0," OUTPUT "\"smaps\":1," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0," OUTPUT "\"heap\":1," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
        { "{\"directory\":0," OUTPUT "\"heap\":true,\"heapCache\":2," ME "," LIMITS "}",
          "org.varlink.service.InvalidParameter" },
};

static int empty_file(void) {
        int fd = memfd_create("output", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

START_TEST(a_capture_that_cannot_be_kept_is_not_taken) {
        int fds[] = { spool_directory(), empty_file() };
        Conversation answer;

        publish("taken");
        converse("capture", "io.ctprof.Job.Capture", capture_rows[_i].parameters, true, fds, 2,
                 WORKER_FREE, &answer);
        ck_assert_ptr_nonnull(answer.error);
        ck_assert_str_eq(answer.error, capture_rows[_i].error);
        ck_assert_uint_eq(answer.n, 1); /* not even progress */
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 1);
        ck_assert_int_eq(lseek(fds[1], 0, SEEK_END), 0);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

/* A capture of this host; returns the file and what was said about its sources. */
static int capture(WorkerConfinement confinement, json_object **ret_sources) {
        int fds[] = { spool_directory(), empty_file() };
        Conversation answer;

        converse("capture", "io.ctprof.Job.Capture",
                 "{\"directory\":0," OUTPUT "\"name\":\"x\",\"tagged\":true," ME "," LIMITS "}",
                 false, fds, 2, confinement, &answer);
        ck_assert_msg(!answer.error, "%s: %s", answer.error,
                      json_object_to_json_string(answer.replies[0]));
        *ret_sources = json_object_get(json_path(answer.replies[0], "sources", NULL));
        conversation_done(&answer);
        (void) close(fds[0]);
        return fds[1];
}

/* The state of every source, without the counts, which differ from one moment to the next. */
static void states_of(json_object *sources, char *ret, size_t n) {
        for (size_t i = 0; i < json_object_array_length(sources); i++) {
                json_object *source = json_object_array_get_idx(sources, i);
                size_t used = strlen(ret);

                (void) snprintf(ret + used, n - used, "%s=%s ", json_string_at(source, "name"),
                                json_string_at(source, "state"));
        }
}

START_TEST(a_capture_reads_as_much_inside_its_sandbox) {
        char inside[4096] = "", outside[4096] = "";
        json_object *sources;

        if (cannot_be_tried(WORKER_CONFINED))
                return;
        (void) close(capture(WORKER_FREE, &sources));
        states_of(sources, outside, sizeof(outside));
        json_object_put(sources);
        (void) close(capture(WORKER_CONFINED, &sources));
        states_of(sources, inside, sizeof(inside));
        json_object_put(sources);
        ck_assert_str_eq(inside, outside);
        ck_assert_uint_eq(spool_empty(), 0); /* nothing has a name yet */
}
END_TEST

#define KEEP "{\"directory\":0,\"file\":1,\"sources\":[{\"name\":\"stat\"}]," LIMITS

/* A file of the spool with a whole capture in it. */
static int captured_file(void) {
        json_object *sources;
        int from = capture(WORKER_FREE, &sources), to, directory = spool_directory();
        Spool *spool;
        size_t n;
        char *bytes = fixture_bytes(from, &n);

        json_object_put(sources);
        ck_assert_int_eq(spool_adopt(directory, spool_path_text, &spool), 0);
        ck_assert_int_eq(spool_temporary(spool, &to), 0);
        ck_assert_int_eq(pwrite(to, bytes, n, 0), (ssize_t) n);
        (void) spool_free(spool);
        (void) close(from);
        free(bytes);
        return to;
}

START_TEST(what_was_captured_is_kept) {
        int file = captured_file(), fds[] = { spool_directory(), file };
        Conversation answer;

        converse("spool", "io.ctprof.Job.Keep",
                 KEEP ",\"rotated\":[\"old\"],\"name\":\"x\"," ME ",\"tagged\":true}", false, fds,
                 2, check_lacks_filters() ? WORKER_FREE : WORKER_CONFINED, &answer);
        ck_assert_msg(!answer.error, "%s: %s", answer.error,
                      json_object_to_json_string(answer.replies[0]));
        ck_assert_str_eq(json_string_at(json_path(answer.replies[0], "snapshot", NULL), "name"),
                         "x");
        ck_assert_str_eq(
                json_object_to_json_string_ext(json_path(answer.replies[0], "sources", NULL),
                                               JSON_C_TO_STRING_PLAIN),
                "[{\"name\":\"stat\"}]");
        ck_assert_str_eq(
                json_object_to_json_string_ext(json_path(answer.replies[0], "rotated", NULL),
                                               JSON_C_TO_STRING_PLAIN),
                "[\"old\"]");
        conversation_done(&answer);
        ck_assert(spool_has("x"));
        ck_assert_uint_eq(spool_empty(), 1);
        (void) close(fds[0]);
        (void) close(file);
}
END_TEST

/* What a capture job that somebody took over might write into the head. */
static const char *const forged_rows[] = {
        KEEP ",\"name\":\"y\",\"tagged\":true," ME "}",
        KEEP ",\"name\":\"x\",\"tagged\":false," ME "}",
        KEEP ",\"name\":\"x\",\"tagged\":true,\"uid\":7}",
        KEEP "," ME "}",
};

START_TEST(a_head_that_was_not_ordered_is_not_kept) {
        int file = captured_file();

        must_fail("io.ctprof.Job.Keep", forged_rows[_i], file, "io.ctprof.Profiler.JobFailed");
        ck_assert_uint_eq(spool_empty(), 0);
        (void) close(file);
}
END_TEST

/* The capabilities that a spool job has once it has looked at the directory. */
static int child_in_spool(uid_t owner, uid_t file_owner, uint64_t wanted) {
        SpoolParameters parameters = {
                .directory = spool_directory(),
                .roll = -EBADF,
                .path = "/x",
        };
        Work work = { .terms = job_terms(JOB_SPOOL), .confines = true };
        const char *set;
        char text[8192];
        Spool *spool;
        ssize_t n;
        int fd;

        (void) snprintf(text, sizeof(text), "%s/x", spool_path_text);
        fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fchown(fd, file_owner, 0) != 0 || chown(spool_path_text, owner, 0) != 0 ||
            work_adopt_spool(&work, &parameters, &spool))
                return 2;
        fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        n = read(fd, text, sizeof(text) - 1);
        if (n < 0)
                return 3;
        text[n] = '\0';
        set = strstr(text, "CapPrm:\t");
        return set && strtoull(set + 8, NULL, 16) == wanted ? 0 : 1;
}

static const struct {
        uid_t owner, file_owner;
        uint64_t wanted;
} owner_rows[] = {
        { 0, 0, 0 },
        { 0, 65534, SANDBOX_CAPABILITY(DAC_READ_SEARCH) },
        { 65534, 0, SANDBOX_CAPABILITY(DAC_READ_SEARCH) | SANDBOX_CAPABILITY(DAC_OVERRIDE) },
};

START_TEST(in_its_own_spool_a_job_has_no_capability) {
        int status;
        pid_t pid;

        if (check_skips(getuid() != 0 ? "only for root" : check_lacks_filters()))
                return;
        pid = fork();
        if (pid == 0)
                sandbox_exit(child_in_spool(owner_rows[_i].owner, owner_rows[_i].file_owner,
                                            owner_rows[_i].wanted));
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
}
END_TEST

static TCase *tcase_with_spool(Suite *suite, const char *name) {
        TCase *tcase = tcase_create(name);

        tcase_add_checked_fixture(tcase, spool_setup, spool_teardown);
        suite_add_tcase(suite, tcase);
        return tcase;
}

/* In place of the C library's function in this program, which is found before any sandbox. */
static struct dirent *(*readdir_of_library)(DIR *);
static int readdir_error;

__attribute__((constructor)) static void find_readdir(void) {
        void *found = dlsym(RTLD_NEXT, "readdir64");

        memcpy(&readdir_of_library, &found, sizeof(readdir_of_library));
}

struct dirent *readdir(DIR *directory) {
        if (readdir_error == 0)
                return readdir_of_library(directory);
        errno = readdir_error;
        return NULL;
}

START_TEST(a_spool_that_cannot_be_listed_may_hold_files_of_others) {
        _cleanup_(fd_closep) int fd = open(spool_path_text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_uint_eq(work_spool_capabilities(fd), 0);
        readdir_error = EIO;
        ck_assert_uint_eq(work_spool_capabilities(fd), SANDBOX_CAPABILITY(DAC_READ_SEARCH));
        readdir_error = 0;
}
END_TEST

int main(void) {
        Suite *suite = suite_create("spool-job");
        TCase *publishing = tcase_with_spool(suite, "publish");
        TCase *removing = tcase_with_spool(suite, "remove");
        TCase *renaming = tcase_with_spool(suite, "rename");
        TCase *cleaning = tcase_with_spool(suite, "clean");
        TCase *capturing = tcase_with_spool(suite, "capture");

        tcase_add_test(publishing, a_spool_that_cannot_be_listed_may_hold_files_of_others);
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
        tcase_add_test(removing, what_only_root_can_read_is_removed_for_root);
        tcase_add_test(renaming, a_renamed_snapshot_is_tagged);
        tcase_add_loop_test(renaming, what_may_not_be_renamed_stays, 0, ELEMENTSOF(rename_rows));
        tcase_add_test(cleaning, left_overs_are_cleaned_away);
        tcase_add_loop_test(capturing, a_capture_that_cannot_be_kept_is_not_taken, 0,
                            ELEMENTSOF(capture_rows));
        tcase_add_loop_test(publishing, in_its_own_spool_a_job_has_no_capability, 0,
                            ELEMENTSOF(owner_rows));
        tcase_set_timeout(capturing, 60);
        tcase_add_test(capturing, a_capture_reads_as_much_inside_its_sandbox);
        tcase_add_test(capturing, what_was_captured_is_kept);
        tcase_add_loop_test(capturing, a_head_that_was_not_ordered_is_not_kept, 0,
                            ELEMENTSOF(forged_rows));
        return check_main(suite);
}
