/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool-fixture.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "spool/spool-directory.h"

/* publishing */

START_TEST(a_published_snapshot_is_there_whole) {
        Head head;
        int fd;

        put("before", 10, 1000, true);
        ck_assert_uint_eq(count_files(), 1);
        ck_assert_int_eq(spool_open_snapshot(spool, "before", &fd, &head), 0);
        ck_assert_str_eq(head.name, "before");
        ck_assert(head.tagged);
        ck_assert_uint_eq(head.uid, 1000);
        ck_assert_int_eq(snapshot_file_check_digest(fd, NULL), 0);
        head_done(&head);
        (void) close(fd);
}
END_TEST

START_TEST(nothing_is_seen_before_it_is_published) {
        int fd = make_snapshot("before", 10, 1000, true);

        check_list("");
        ck_assert_uint_eq(count_files(), 0);
        (void) close(fd);
        ck_assert_uint_eq(count_files(), 0);
}
END_TEST

START_TEST(a_taken_name_is_refused_and_kept) {
        int fd = make_snapshot("x", 20, 1000, true);
        Head head;

        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000, NULL), SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 0, NULL), SPOOL_E_EXISTS);
        (void) close(fd);
        ck_assert_uint_eq(count_files(), 1);
        ck_assert_int_eq(spool_open_snapshot(spool, "x", &fd, &head), 0);
        ck_assert_uint_eq(head.start_realtime_ns, 10);
        head_done(&head);
        (void) close(fd);
}
END_TEST

static const struct {
        uid_t uid;
        int expected;
} replace_rows[] = {
        { 1000, 0 },
        { 0, 0 },
        { 1001, SPOOL_E_NOT_OWNER },
};

START_TEST(only_owners_replace) {
        int fd = make_snapshot("x", 20, 1000, true);
        Head head, replaced = {};
        uint64_t start;

        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_publish(spool, fd, "x", true, replace_rows[_i].uid, &replaced),
                         replace_rows[_i].expected);
        ck_assert_uint_eq(replaced.start_realtime_ns, replace_rows[_i].expected == 0 ? 10 : 0);
        head_done(&replaced);
        (void) close(fd);
        ck_assert_uint_eq(count_files(), 1); /* no dot-name is left */
        ck_assert_int_eq(spool_open_snapshot(spool, "x", &fd, &head), 0);
        start = head.start_realtime_ns;
        ck_assert_uint_eq(start, replace_rows[_i].expected == 0 ? 20 : 10);
        head_done(&head);
        (void) close(fd);
}
END_TEST

START_TEST(replacing_nothing_is_publishing) {
        int fd = make_snapshot("x", 20, 1000, true);
        Head replaced = {};

        ck_assert_int_eq(spool_publish(spool, fd, "x", true, 1000, &replaced), 0);
        ck_assert_str_eq(replaced.name, "");
        ck_assert(exists("x"));
        (void) close(fd);
}
END_TEST

START_TEST(a_reader_keeps_what_it_opened) {
        int old, fd = make_snapshot("x", 20, 1000, true);
        Head head;

        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_open_snapshot(spool, "x", &old, NULL), 0);
        ck_assert_int_eq(spool_publish(spool, fd, "x", true, 1000, NULL), 0);
        ck_assert_int_eq(snapshot_file_verify(old, SNAPSHOT_PART_WHOLE, &head, NULL), 0);
        ck_assert_uint_eq(head.start_realtime_ns, 10);
        head_done(&head);
        (void) close(old);
        (void) close(fd);
}
END_TEST

static const char *const bad_names[] = {
        "",      ".x",
        "-x",    "a/b",
        "../x",  "latest",
        "x.zst", "a b",
        "\xff",  "12345678901234567890123456789012345678901234567890123456789012345",
};

START_TEST(names_outside_the_grammar_are_never_files) {
        const char *name = bad_names[_i];
        char free_name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int fd = make_snapshot("x", 20, 1000, true), other;

        ck_assert_int_eq(spool_publish(spool, fd, name, false, 0, NULL), -EINVAL);
        ck_assert_int_eq(spool_publish(spool, fd, name, true, 0, NULL), -EINVAL);
        ck_assert_int_eq(spool_free_name(spool, name, free_name), -EINVAL);
        ck_assert_int_eq(spool_open_snapshot(spool, name, &other, NULL), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(remove_one(spool, name, 0), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, name, "y", 0, NULL),
                         SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "y", name, 0, NULL), -EINVAL);
        ck_assert_int_eq(spool_resolve(spool, span_of(name), free_name), SPOOL_E_NOT_FOUND);
        ck_assert_uint_eq(count_files(), 0);
        (void) close(fd);
}
END_TEST

START_TEST(free_names_count_up) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        char longest[SNAPSHOT_NAME_MAX_CHARS + 1];

        ck_assert_int_eq(spool_free_name(spool, "t", name), 0);
        ck_assert_str_eq(name, "t");
        put("t", 1, 0, false);
        ck_assert_int_eq(spool_free_name(spool, "t", name), 0);
        ck_assert_str_eq(name, "t-2");
        put("t-2", 2, 0, false);
        put("t-3", 3, 0, false);
        ck_assert_int_eq(spool_free_name(spool, "t", name), 0);
        ck_assert_str_eq(name, "t-4");

        memset(longest, 'n', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        put(longest, 4, 0, false);
        ck_assert_int_eq(spool_free_name(spool, longest, name), -ENAMETOOLONG);
}
END_TEST

START_TEST(a_name_of_a_time_that_is_taken_meanwhile_counts_up) {
        Head head;
        int fd;

        for (unsigned i = 0; i < 3; i++) {
                static const char *const names[] = { "t", "t-2", "t-3" };

                fd = make_snapshot("t", 10 + i, 1000, false);
                head = test_head("t", 10 + i, 1000);
                ck_assert_int_eq(spool_publish_untagged(spool, fd, "t", &head), 0);
                ck_assert_str_eq(head.name, names[i]);
                ck_assert(!head.tagged);
                (void) close(fd);
                ck_assert_int_eq(spool_open_snapshot(spool, names[i], &fd, &head), 0);
                ck_assert_str_eq(head.name, names[i]);
                ck_assert_uint_eq(head.start_realtime_ns, 10 + i);
                ck_assert(!head.tagged);
                ck_assert_int_eq(snapshot_file_check_digest(fd, NULL), 0);
                head_done(&head);
                (void) close(fd);
        }
        check_list("t-3 t-2 t ");
        ck_assert_uint_eq(count_files(), 3);
}
END_TEST

/* File systems without unnamed files: a file with a dot-name is published like one without. */
static int make_named(char *ret_name) {
        Head head = test_head("x", 5, 1000);
        int fd;

        (void) strcpy(ret_name, ".ctprof-new-0123456789abcdef");
        fd = test_dir_file(&dir, ret_name);
        ck_assert_int_eq(flock(fd, LOCK_EX), 0);
        (void) write_snapshot(fd, &head);
        return fd;
}

START_TEST(named_temporaries_are_published_too) {
        char name[64];
        int fd = make_named(name);

        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000, NULL), 0);
        ck_assert_uint_eq(count_files(), 1);
        ck_assert(exists("x"));
        (void) close(fd);

        fd = make_named(name);
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000, NULL), SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_publish(spool, fd, "x", true, 1000, NULL), 0);
        ck_assert_uint_eq(count_files(), 1);
        (void) close(fd);
}
END_TEST

START_TEST(discarding_removes_the_name_of_a_temporary_only) {
        char name[64];
        int fd = make_named(name);

        spool_discard(spool, fd);
        ck_assert_uint_eq(count_files(), 0);
        spool_discard(spool, fd); /* its dot-name is gone already */
        (void) close(fd);

        fd = make_named(name);
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000, NULL), 0);
        spool_discard(spool, fd);
        (void) close(fd);
        fd = make_snapshot("y", 20, 0, false);
        spool_discard(spool, fd);
        ck_assert_int_eq(spool_publish(spool, fd, "y", false, 0, NULL), 0);
        spool_discard(spool, fd);
        (void) close(fd);
        fd = test_dir_file(&dir, "foreign");
        spool_discard(spool, fd);
        (void) close(fd);
        spool_discard(spool, -EBADF);
        ck_assert_uint_eq(count_files(), 3);
        check_list("y x ");
}
END_TEST

START_TEST(files_from_elsewhere_are_not_published) {
        int fd = test_dir_file(&dir, "foreign");

        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 0, NULL), -EINVAL);
        ck_assert(!exists("x"));
        (void) close(fd);
}
END_TEST

/* removing and renaming */

START_TEST(only_owners_remove) {
        put("x", 10, 1000, true);
        ck_assert_int_eq(remove_one(spool, "x", 1001), SPOOL_E_NOT_OWNER);
        ck_assert(exists("x"));
        ck_assert_int_eq(remove_one(spool, "x", 1000), 0);
        ck_assert(!exists("x"));
        ck_assert_int_eq(remove_one(spool, "x", 1000), SPOOL_E_NOT_FOUND);
        put("x", 10, 1000, true);
        ck_assert_int_eq(remove_one(spool, "x", 0), 0);
        ck_assert_uint_eq(count_files(), 0);
}
END_TEST

/* The second of two decides. */
static const struct {
        const char *second;
        uid_t uid;
        int expected;
} all_rows[] = {
        { "mine", 1000, 0 },
        { "of-others", 1000, SPOOL_E_NOT_OWNER },
        { "of-others", 0, 0 },
        { "missing", 1000, SPOOL_E_NOT_FOUND },
};

START_TEST(all_are_removed_or_none) {
        const int expected = all_rows[_i].expected;
        Head heads[2] = {};
        size_t culprit;

        put("first", 10, 1000, true);
        put("mine", 20, 1000, true);
        put("of-others", 20, 1001, true);
        (void) snprintf(heads[0].name, sizeof(heads[0].name), "first");
        (void) snprintf(heads[1].name, sizeof(heads[1].name), "%s", all_rows[_i].second);
        ck_assert_int_eq(spool_remove(spool, heads, 2, all_rows[_i].uid, &culprit), expected);
        ck_assert(exists("first") == (expected != 0));
        ck_assert_uint_eq(count_files(), expected == 0 ? 1 : 3);
        if (expected == 0) {
                ck_assert_uint_eq(heads[0].start_realtime_ns, 10);
                ck_assert_uint_eq(heads[1].start_realtime_ns, 20);
        } else {
                ck_assert_uint_eq(culprit, 1);
        }
        head_done(&heads[0]);
        head_done(&heads[1]);
}
END_TEST

START_TEST(a_damaged_file_belongs_to_whose_file_it_is) {
        uid_t stranger = getuid() + 4711;

        put_garbage("x" SNAPSHOT_FILE_SUFFIX);
        ck_assert_int_eq(remove_one(spool, "x", stranger), SPOOL_E_NOT_OWNER);
        ck_assert_int_eq(remove_one(spool, "x", getuid()), 0);
        ck_assert(!exists("x"));
}
END_TEST

START_TEST(a_renamed_snapshot_is_tagged_and_whole) {
        Head head, read;
        int fd;

        put("20260101T000000.000Z", 10, 1000, false);
        ck_assert_int_eq(
                spool_rename(spool, &(SpoolLimits){}, "20260101T000000.000Z", "kept", 1000, &head),
                0);
        ck_assert_str_eq(head.name, "kept");
        ck_assert(head.tagged && head.has_size);
        head_done(&head);
        ck_assert_uint_eq(count_files(), 1);
        ck_assert_int_eq(spool_open_snapshot(spool, "kept", &fd, NULL), 0);
        ck_assert_int_eq(snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, &read, NULL), 0);
        ck_assert_str_eq(read.name, "kept");
        ck_assert(read.tagged);
        ck_assert_uint_eq(read.start_realtime_ns, 10);
        ck_assert_uint_eq(read.uid, 1000);
        head_done(&read);
        (void) close(fd);
}
END_TEST

START_TEST(renaming_refuses_and_leaves_all_as_it_was) {
        Head head;

        put("a", 10, 1000, false);
        put("b", 20, 1000, false);
        put_garbage("z" SNAPSHOT_FILE_SUFFIX);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "a", "b", 1000, &head),
                         SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "a", "a", 1000, &head),
                         SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "a", "c", 1001, &head),
                         SPOOL_E_NOT_OWNER);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "c", "d", 1000, &head),
                         SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "z", "d", 0, &head),
                         SPOOL_E_DAMAGED);
        check_list("b a z! ");
        ck_assert_uint_eq(count_files(), 3);
}
END_TEST

START_TEST(a_damaged_body_is_not_renamed) {
        char byte;
        Head head;
        int fd;

        put("a", 10, 1000, false);
        fd = openat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, O_RDWR);
        ck_assert_int_eq(pread(fd, &byte, 1, 20), 1);
        byte = (char) ~byte;
        ck_assert_int_eq(pwrite(fd, &byte, 1, 20), 1);
        (void) close(fd);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "a", "b", 1000, &head),
                         SPOOL_E_DAMAGED);
        ck_assert(exists("a") && !exists("b"));
        ck_assert_uint_eq(count_files(), 1);
}
END_TEST

/* Called while a file of the spool is synced, in place of the C library's function. */
static void (*on_sync)(void);

int fsync(int fd) {
        void (*now)(void) = on_sync;
        struct stat st;

        if (now && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
                on_sync = NULL;
                now();
        }
        return (int) syscall(SYS_fsync, fd);
}

static void add_another(void) {
        spool->patience_ns = NSEC_PER_SEC / 10;
        put("other", 30, 1000, true);
}

static void expect_another(void) {
        on_sync = add_another;
}

static void replace_a(void) {
        int fd = make_snapshot("a", 40, 1000, true);

        spool->patience_ns = NSEC_PER_SEC / 10;
        ck_assert_int_eq(spool_publish(spool, fd, "a", true, 1000, NULL), 0);
        (void) close(fd);
}

static void remove_a(void) {
        spool->patience_ns = NSEC_PER_SEC / 10;
        ck_assert_int_eq(remove_one(spool, "a", 1000), 0);
}

static void take_b(void) {
        spool->patience_ns = NSEC_PER_SEC / 10;
        put("b", 50, 1000, true);
}

static const struct {
        void (*meanwhile)(void);
        int result;
        uint64_t start_ns; /* of "b", which was there at first as "a" */
        const char *list;
} meanwhile_rows[] = {
        { add_another, 0, 10, "other b " },
        { replace_a, 0, 40, "b " },
        { remove_a, SPOOL_E_NOT_FOUND, 0, "" },
        { take_b, SPOOL_E_EXISTS, 50, "b a " },
};

START_TEST(nobody_waits_for_the_copy_of_a_renamed_snapshot) {
        Head head;
        int fd;

        put("a", 10, 1000, false);
        on_sync = meanwhile_rows[_i].meanwhile;
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "a", "b", 1000, NULL),
                         meanwhile_rows[_i].result);
        ck_assert(!on_sync);
        check_list(meanwhile_rows[_i].list);
        if (meanwhile_rows[_i].start_ns == 0)
                return;
        ck_assert_int_eq(spool_open_snapshot(spool, "b", &fd, &head), 0);
        ck_assert_str_eq(head.name, "b");
        ck_assert_uint_eq(head.start_realtime_ns, meanwhile_rows[_i].start_ns);
        ck_assert_int_eq(snapshot_file_check_digest(fd, NULL), 0);
        head_done(&head);
        (void) close(fd);
}
END_TEST

START_TEST(nobody_waits_for_the_copy_of_a_capture_whose_name_is_taken) {
        Head head = test_head("t", 20, 1000);
        int fd;

        put("t", 10, 1000, false);
        fd = make_snapshot("t", 20, 1000, false);
        ck_assert_int_eq(spool_sync_fd(fd), 0);
        /* Its own sync comes first, and that of the copy second. */
        on_sync = expect_another;
        ck_assert_int_eq(spool_publish_untagged(spool, fd, "t", &head), 0);
        ck_assert(!on_sync);
        ck_assert_str_eq(head.name, "t-2");
        check_list("t-2 other t ");
        (void) close(fd);
}
END_TEST

START_TEST(a_copy_leaves_free_what_must_stay_free) {
        const SpoolLimits rows[] = {
                { .keep_free_bytes = UINT64_MAX },
                { .reserved_bytes = UINT64_MAX },
        };

        put("a", 10, 1000, false);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ck_assert_int_eq(spool_rename(spool, &rows[i], "a", "b", 1000, NULL), SPOOL_E_FULL);
                ck_assert_msg(strstr(spool->complaint, "(KeepFree=)"), "%s", spool->complaint);
        }
        check_list("a ");
        ck_assert_uint_eq(count_files(), 1);
}
END_TEST

/* A process of its own that holds a lock on the directory until it is ended. */
static pid_t lock_as_stranger(void) {
        int ready[2];
        char byte;
        pid_t pid;

        ck_assert_int_eq(pipe(ready), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                int fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                /* A test that fails must not leave it behind. */
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) prctl(PR_SET_NAME, "stranger");
                if (fd < 0 || flock(fd, LOCK_EX) < 0 || write(ready[1], "", 1) != 1)
                        _exit(EXIT_FAILURE);
                for (;;)
                        (void) pause();
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        (void) close(ready[0]);
        (void) close(ready[1]);
        return pid;
}

START_TEST(a_stranger_with_the_lock_is_waited_for_only_so_long_and_named) {
        struct timespec begin, end;
        char expected[64];
        Buffer rotated = {};
        pid_t stranger;
        int fd;

        put("x", 10, 1000, true);
        fd = make_snapshot("y", 20, 1000, true);
        stranger = lock_as_stranger();
        spool->patience_ns = NSEC_PER_SEC / 10;
        (void) snprintf(expected, sizeof(expected), " s by process %d (\"stranger\"",
                        (int) stranger);

        (void) clock_gettime(CLOCK_MONOTONIC, &begin);
        ck_assert_int_eq(spool_publish(spool, fd, "y", false, 1000, NULL), SPOOL_E_UNAVAILABLE);
        (void) clock_gettime(CLOCK_MONOTONIC, &end);
        ck_assert_int_le(end.tv_sec - begin.tv_sec, 5);
        ck_assert_msg(strstr(spool->complaint, expected), "%s", spool->complaint);
        ck_assert_int_eq(remove_one(spool, "x", 0), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "x", "z", 0, NULL),
                         SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_clean(spool), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_make_room(spool, &(SpoolLimits){}, &(SpoolNeed){}, &rotated),
                         SPOOL_E_UNAVAILABLE);

        ck_assert_int_eq(kill(stranger, SIGKILL), 0);
        ck_assert_int_eq(waitpid(stranger, NULL, 0), stranger);
        ck_assert_int_eq(spool_publish(spool, fd, "y", false, 1000, NULL), 0);
        (void) close(fd);
        check_list("y x ");
}
END_TEST

START_TEST(the_directory_is_closed_to_others) {
        struct stat st;

        ck_assert_int_eq(spool_tighten(spool), SPOOL_ACCESS_PRIVATE);
        ck_assert_int_eq(fchmod(dir.fd, 0751), 0);
        ck_assert_int_eq(spool_tighten(spool), SPOOL_ACCESS_TIGHTENED);
        ck_assert_int_eq(fstat(dir.fd, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0700);
        if (geteuid() != 0)
                return;
        ck_assert_int_eq(fchmod(dir.fd, 0755), 0);
        ck_assert_int_eq(fchown(dir.fd, 1000, 1000), 0);
        ck_assert_int_eq(spool_tighten(spool), SPOOL_ACCESS_SHARED);
        ck_assert_int_eq(fstat(dir.fd, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0755);
}
END_TEST

START_TEST(cleaning_removes_left_over_dot_names_and_nothing_else) {
        char busy[64];
        int fd;

        put("a", 10, 0, false);
        put_garbage(".ctprof-new-00000000000000aa");
        put_garbage(".ctprof-new-short");
        put_garbage(".hidden");
        put_garbage("other");
        fd = make_named(busy); /* another process is writing it */
        ck_assert_int_eq(spool_clean(spool), 0);
        ck_assert_uint_eq(count_files(), 5);
        ck_assert_int_eq(faccessat(dir.fd, ".ctprof-new-00000000000000aa", F_OK, 0), -1);
        ck_assert_int_eq(faccessat(dir.fd, busy, F_OK, 0), 0);
        (void) close(fd);
        ck_assert_int_eq(spool_clean(spool), 0);
        ck_assert_uint_eq(count_files(), 4);
        check_list("a ");
}
END_TEST

START_TEST(only_a_dot_name_of_ours_is_a_reason_to_clean) {
        put("a", 10, 0, false);
        put_garbage(".ctprof-new-short");
        put_garbage(".hidden");
        ck_assert(!spool_may_be_unclean(spool));
        put_garbage(".ctprof-new-00000000000000aa");
        ck_assert(spool_may_be_unclean(spool));
        ck_assert_int_eq(spool_clean(spool), 0);
        ck_assert(!spool_may_be_unclean(spool));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("spool-publish");
        TCase *publish = case_new(suite, "publish");
        TCase *remove = case_new(suite, "remove");

        tcase_add_test(publish, a_published_snapshot_is_there_whole);
        tcase_add_test(publish, nothing_is_seen_before_it_is_published);
        tcase_add_test(publish, a_taken_name_is_refused_and_kept);
        tcase_add_loop_test(publish, only_owners_replace, 0, ELEMENTSOF(replace_rows));
        tcase_add_test(publish, replacing_nothing_is_publishing);
        tcase_add_test(publish, a_reader_keeps_what_it_opened);
        tcase_add_loop_test(publish, names_outside_the_grammar_are_never_files, 0,
                            ELEMENTSOF(bad_names));
        tcase_add_test(publish, free_names_count_up);
        tcase_add_test(publish, a_name_of_a_time_that_is_taken_meanwhile_counts_up);
        tcase_add_test(publish, named_temporaries_are_published_too);
        tcase_add_test(publish, discarding_removes_the_name_of_a_temporary_only);
        tcase_add_test(publish, files_from_elsewhere_are_not_published);
        tcase_add_test(remove, only_owners_remove);
        tcase_add_loop_test(remove, all_are_removed_or_none, 0, ELEMENTSOF(all_rows));
        tcase_add_test(remove, a_damaged_file_belongs_to_whose_file_it_is);
        tcase_add_test(remove, a_renamed_snapshot_is_tagged_and_whole);
        tcase_add_test(remove, renaming_refuses_and_leaves_all_as_it_was);
        tcase_add_test(remove, a_damaged_body_is_not_renamed);
        tcase_add_loop_test(remove, nobody_waits_for_the_copy_of_a_renamed_snapshot, 0,
                            ELEMENTSOF(meanwhile_rows));
        tcase_add_test(remove, nobody_waits_for_the_copy_of_a_capture_whose_name_is_taken);
        tcase_add_test(remove, a_copy_leaves_free_what_must_stay_free);
        tcase_add_test(remove, cleaning_removes_left_over_dot_names_and_nothing_else);
        tcase_add_test(remove, only_a_dot_name_of_ours_is_a_reason_to_clean);
        tcase_add_test(remove, a_stranger_with_the_lock_is_waited_for_only_so_long_and_named);
        tcase_add_test(remove, the_directory_is_closed_to_others);
        return check_main(suite);
}
