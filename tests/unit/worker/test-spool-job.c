/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"
#include "spool/spool.h"
#include "worker/work.h"

#define ME .uid = 1000

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
static int spool_file(const char *name, uid_t owner) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;
        int from, to, directory = spool_directory();
        Spool *spool;
        char *bytes;
        size_t n;

        snapshot.name = name;
        snapshot.uid = owner;
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

/* What orders of spool jobs differ in. */
typedef struct Told {
        const char *name, *new_name;
        const char *names[4];
        uid_t uid;
        bool replace, is_untagged, is_import;
        uint64_t max_bytes;
        OrderFd file; /* 0: the second descriptor */
} Told;

static void copy_name(OrderName *ret, const char *name) {
        (void) snprintf(ret->text, sizeof(ret->text), "%s", name ? name : "");
}

static Order *new_order(OrderMethod method, const Told *told) {
        Order *order = order_new(method);

        ck_assert_ptr_nonnull(order);
        order->spool.spool.directory = 1;
        order->spool.spool.limits.max_bytes = told->max_bytes;
        (void) snprintf(order->spool.spool.path, sizeof(order->spool.spool.path), "/x");
        order->spool.file = told->file > 0 ? told->file : 2;
        order->spool.uid = told->uid;
        order->spool.tagged = !told->is_untagged;
        order->spool.replace = told->replace;
        order->spool.is_import = told->is_import;
        copy_name(&order->spool.name, told->name);
        copy_name(&order->spool.new_name, told->new_name);
        while (order->spool.n_names < ELEMENTSOF(told->names) &&
               told->names[order->spool.n_names]) {
                copy_name(&order->spool.names[order->spool.n_names],
                          told->names[order->spool.n_names]);
                order->spool.n_names++;
        }
        return order;
}

static void spool_call(OrderMethod method, const Told *told, int file, Conversation *ret) {
        _cleanup_(freep) Order *order = new_order(method, told);
        int fds[] = { spool_directory(), file };

        obey(order, fds, file >= 0 ? 2 : 1, WORKER_FREE, ret);
        (void) close(fds[0]);
}

/* The name in the head of what was published. */
static void expect_published(const Conversation *answer, const char *name) {
        json_object *head;
        Span texts[3];

        ck_assert(result_unpack(buffer_span(&answer->result), texts, 3));
        head = json_tokener_parse(texts[0].bytes);
        ck_assert_str_eq(json_string_at(head, "name"), name);
        json_object_put(head);
}

/* Publishes a snapshot of that name; uid 1000 owns it. */
static void publish(const char *name) {
        int file = spool_file(name, 1000);
        Conversation answer;

        spool_call(ORDER_PUBLISH, &(Told){ .name = name, ME }, file, &answer);
        ck_assert_msg(!answer.error, "%s", answer.error);
        expect_published(&answer, name);
        conversation_done(&answer);
        (void) close(file);
        ck_assert(spool_has(name));
}

static void must_fail(OrderMethod method, const Told *told, int file, const char *error) {
        Conversation answer;

        spool_call(method, told, file, &answer);
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
        Told told;
        uid_t owner; /* in the head of the file */
        const char *error;
} publish_rows[] = {
        { { .name = "taken", ME }, 1000, "io.ctprof.Profiler.SnapshotExists" },
        { { .name = "taken", .replace = true, .uid = 7 },
          7,
          "org.varlink.service.PermissionDenied" },
        { { .name = "taken", .replace = true, .uid = 7 }, 1000, "io.ctprof.Profiler.JobFailed" },
        { { .name = "other", .replace = true, ME }, 1000, "io.ctprof.Profiler.JobFailed" },
        { { .name = ".taken", .replace = true, ME }, 1000, "io.ctprof.Profiler.InvalidName" },
        { { .name = "taken", .replace = true, ME, .max_bytes = 10 },
          1000,
          "io.ctprof.Profiler.SpoolFull" },
        { { .name = "taken", .replace = true, ME, .file = 9 },
          1000,
          "io.ctprof.Profiler.JobFailed" },
};

START_TEST(what_may_not_be_published_changes_nothing) {
        int file = spool_file("taken", publish_rows[_i].owner);

        publish("taken");
        must_fail(ORDER_PUBLISH, &publish_rows[_i].told, file, publish_rows[_i].error);
        ck_assert(spool_has("taken"));
        ck_assert_uint_eq(spool_empty(), 1);
        (void) close(file);
}
END_TEST

/* As an import job leaves it. */
static int imported_file(void) {
        int from = spool_file("x", 1000), to, directory = spool_directory();
        char origin[] = "{\"name\":\"elsewhere\"}";
        uint64_t n_bytes;
        Spool *spool;
        Head head;

        ck_assert_int_eq(snapshot_file_read_head(from, &head, &(SnapshotFault){}), 0);
        ck_assert_ptr_null(head.imported_from);
        head.imported_from = origin;
        ck_assert_int_eq(spool_adopt(directory, spool_path_text, &spool), 0);
        ck_assert_int_eq(spool_temporary(spool, &to), 0);
        ck_assert_int_eq(snapshot_file_rehead(from, to, &head, &n_bytes, NULL), 0);
        (void) spool_free(spool);
        (void) close(from);
        return to;
}

START_TEST(what_is_imported_is_published_as_such) {
        for (unsigned is_import = 0; is_import < 2; is_import++) {
                int file = is_import ? imported_file() : spool_file("x", 1000);
                Told told = { .name = "x", ME, .is_import = !is_import };
                Conversation answer;

                must_fail(ORDER_PUBLISH, &told, file, "io.ctprof.Profiler.JobFailed");
                ck_assert(!spool_has("x"));
                told.is_import = is_import;
                spool_call(ORDER_PUBLISH, &told, file, &answer);
                ck_assert_msg(!answer.error, "%s", answer.error);
                expect_published(&answer, "x");
                conversation_done(&answer);
                ck_assert_uint_eq(spool_empty(), 1);
                (void) close(file);
        }
}
END_TEST

START_TEST(only_snapshots_are_published) {
        int directory = spool_directory(), file;
        Spool *spool;

        ck_assert_int_eq(spool_adopt(directory, spool_path_text, &spool), 0);
        ck_assert_int_eq(spool_temporary(spool, &file), 0);
        (void) spool_free(spool);
        must_fail(ORDER_PUBLISH, &(Told){ .name = "x", .replace = true, ME }, file,
                  "io.ctprof.Profiler.SnapshotUnreadable");
        ck_assert_uint_eq(spool_empty(), 0);
        (void) close(file);
}
END_TEST

START_TEST(nothing_is_published_for_who_hung_up) {
        _cleanup_(freep) Order *order = new_order(ORDER_PUBLISH, &(Told){ .name = "a", ME });
        ConversationServer server = { .kind = JOB_SPOOL, .confinement = WORKER_FREE };
        int pair[2], fds[] = { spool_directory(), spool_file("a", 1000) };

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        conversation_send_order(pair[0], order, fds, 2);
        (void) close(pair[0]);
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
        spool_call(ORDER_REMOVE, &(Told){ .names = { "a", "b", "a" }, ME }, -1, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(json_object_array_length(json_path(answer.replies[0], "snapshots", NULL)),
                          2);
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 0);
}
END_TEST

static const struct {
        Told told;
        const char *error;
} remove_rows[] = {
        { { .names = { "a", "nothing" }, ME }, "io.ctprof.Profiler.NoSuchSnapshot" },
        { { .names = { "a", "b" }, .uid = 7 }, "org.varlink.service.PermissionDenied" },
};

START_TEST(all_names_or_none_are_removed) {
        publish("a");
        publish("b");
        must_fail(ORDER_REMOVE, &remove_rows[_i].told, -1, remove_rows[_i].error);
        ck_assert_uint_eq(spool_empty(), 2);
}
END_TEST

START_TEST(what_was_meant_perhaps_is_told) {
        Conversation answer;

        publish("before");
        spool_call(ORDER_REMOVE, &(Told){ .names = { "befor" }, ME }, -1, &answer);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.NoSuchSnapshot");
        ck_assert_str_eq(json_string_at(answer.replies[0], "nearest"), "before");
        conversation_done(&answer);
}
END_TEST

START_TEST(root_removes_what_others_made) {
        Conversation answer;

        publish("a");
        spool_call(ORDER_REMOVE, &(Told){ .names = { "latest" } }, -1, &answer);
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
        spool_call(ORDER_REMOVE, &(Told){ .names = { "good", "bad" } }, -1, &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        ck_assert_uint_eq(spool_empty(), 0);
}
END_TEST

/* As a spool job of the daemon, which has no capability: removes "a", which only root can read. */
static int child_that_removes(uid_t uid) {
        Conversation answer;

        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
                return 2;
        spool_call(ORDER_REMOVE, &(Told){ .names = { "a" }, .uid = uid }, -1, &answer);
        return answer.error ? 1 : 0;
}

START_TEST(what_only_root_can_read_is_removed_for_root) {
        static const uid_t uids[] = { 1000, 0 };

        if (check_skips(getuid() != 0 ? "only for root" : check_lacks_filters()))
                return;
        publish("a");
        ck_assert_int_eq(chown(spool_path_text, 65534, 65534), 0);
        for (int i = 0; i < 2; i++) {
                pid_t pid = fork();
                int status;

                if (pid == 0)
                        _exit(child_that_removes(uids[i]));
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
        spool_call(ORDER_RENAME, &(Told){ .name = "a", .new_name = "b", ME }, -1, &answer);
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
        Told told;
        const char *error;
} rename_rows[] = {
        { { .name = "a", .new_name = "b", ME }, "io.ctprof.Profiler.SnapshotExists" },
        { { .name = "c", .new_name = "d", ME }, "io.ctprof.Profiler.NoSuchSnapshot" },
        { { .name = "a", .new_name = "latest", ME }, "io.ctprof.Profiler.InvalidName" },
        { { .name = "a", .new_name = "d", .uid = 7 }, "org.varlink.service.PermissionDenied" },
        { { .name = "a", ME }, "io.ctprof.Profiler.InvalidName" },
};

START_TEST(what_may_not_be_renamed_stays) {
        publish("a");
        publish("b");
        must_fail(ORDER_RENAME, &rename_rows[_i].told, -1, rename_rows[_i].error);
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
        spool_call(ORDER_CLEAN, &(Told){ .uid = 0 }, -1, &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        ck_assert(spool_has("a"));
        ck_assert_uint_eq(spool_empty(), 1);
}
END_TEST

/* What a capture refuses before it reads anything. */
static const struct {
        const char *name;
        bool replace;
        uid_t uid;
        uint64_t max_bytes;
        unsigned smaps, commands;
        const char *error;
} capture_rows[] = {
        { "taken", false, 1000, 0, 0, 0, "io.ctprof.Profiler.SnapshotExists" },
        { "taken", true, 7, 0, 0, 0, "org.varlink.service.PermissionDenied" },
        { "a/b", false, 1000, 0, 0, 0, "io.ctprof.Profiler.InvalidName" },
        { "x", false, 1000, 10, 0, 0, "io.ctprof.Profiler.SpoolFull" },
        { "x", false, 1000, 0, _SMAPS_MODE_MAX, 0, "io.ctprof.Profiler.JobFailed" },
        { "x", false, 1000, 0, 0, _COMMAND_LINES_MAX, "io.ctprof.Profiler.JobFailed" },
};

static Order *new_capture(const char *name) {
        Order *order = order_new(ORDER_CAPTURE);

        ck_assert_ptr_nonnull(order);
        order->capture.spool.directory = 1;
        order->capture.output = 2;
        order->capture.uid = 1000;
        order->capture.tagged = true;
        order->capture.smaps = SMAPS_MODE_SMALL;
        order->capture.smaps_max_rss_bytes = LIMIT_SMAPS_MAX_RSS_BYTES;
        order->capture.smaps_max_processes = LIMIT_SMAPS_PROCESSES;
        order->capture.smaps_limit_ns = LIMIT_SMAPS_NS;
        order->capture.heap_limit_ns = LIMIT_HEAP_NS;
        (void) snprintf(order->capture.name, sizeof(order->capture.name), "%s", name);
        return order;
}

static int empty_file(void) {
        int fd = memfd_create("output", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

START_TEST(a_capture_that_cannot_be_kept_is_not_taken) {
        _cleanup_(freep) Order *order = new_capture(capture_rows[_i].name);
        int fds[] = { spool_directory(), empty_file() };
        Conversation answer;

        publish("taken");
        order->more = true;
        order->capture.replace = capture_rows[_i].replace;
        order->capture.uid = capture_rows[_i].uid;
        order->capture.spool.limits.max_bytes = capture_rows[_i].max_bytes;
        order->capture.smaps = (SmapsMode) capture_rows[_i].smaps;
        order->capture.commands = (CommandLines) capture_rows[_i].commands;
        obey(order, fds, 2, WORKER_FREE, &answer);
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
        _cleanup_(freep) Order *order = new_capture("x");
        int fds[] = { spool_directory(), empty_file() };
        Conversation answer;
        Span texts[2];

        obey(order, fds, 2, confinement, &answer);
        ck_assert_msg(!answer.error, "%s: %s", answer.error,
                      json_object_to_json_string(answer.replies[0]));
        ck_assert(result_unpack(buffer_span(&answer.result), texts, 2));
        *ret_sources = json_tokener_parse(texts[0].bytes);
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
        _cleanup_(freep) Order *order = new_order(ORDER_PUBLISH, &(Told){ .name = "x", ME });
        int file = captured_file(), fds[] = { spool_directory(), file };
        Conversation answer;

        obey(order, fds, 2, check_lacks_filters() ? WORKER_FREE : WORKER_CONFINED, &answer);
        ck_assert_msg(!answer.error, "%s: %s", answer.error,
                      json_object_to_json_string(answer.replies[0]));
        expect_published(&answer, "x");
        conversation_done(&answer);
        ck_assert(spool_has("x"));
        ck_assert_uint_eq(spool_empty(), 1);
        (void) close(fds[0]);
        (void) close(file);
}
END_TEST

/* What a capture job that somebody took over might write into the head. */
static const Told forged_rows[] = {
        { .name = "y", ME },
        { .name = "x", .is_untagged = true, ME },
        { .name = "x", .uid = 7 },
        { ME },
};

START_TEST(a_head_that_was_not_ordered_is_not_kept) {
        int file = captured_file();

        must_fail(ORDER_PUBLISH, &forged_rows[_i], file, "io.ctprof.Profiler.JobFailed");
        ck_assert_uint_eq(spool_empty(), 0);
        (void) close(file);
}
END_TEST

/* The capabilities that a spool job has once it has looked at the directory. */
static int child_in_spool(uid_t owner, uid_t file_owner, uint64_t wanted) {
        Work work = { .terms = &job_terms[JOB_SPOOL], .confines = true };
        int directory = spool_directory(), fd;
        const char *set;
        char text[8192];
        ssize_t n;

        (void) snprintf(text, sizeof(text), "%s/x", spool_path_text);
        fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fchown(fd, file_owner, 0) != 0 || chown(spool_path_text, owner, 0) != 0 ||
            work_confine(&work, work_spool_capabilities(directory)) != 0)
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
        tcase_add_test(publishing, what_is_imported_is_published_as_such);
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
