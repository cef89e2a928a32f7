/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdint.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <time.h>

#include "files.h"
#include "spool/spool.h"

static TestDir dir;
static Spool *spool;

static void set_up(void) {
        dir = test_dir_new();
        ck_assert_int_eq(spool_open(dir.path, &spool), 0);
}

static void tear_down(void) {
        spool = spool_free(spool);
        test_dir_free(&dir);
}

/* An unnamed snapshot, ready to be published. */
static int make_snapshot(const char *name, uint64_t start_ns, uid_t uid, bool tagged) {
        Head head = test_head(name, start_ns, uid);
        int fd;

        head.tagged = tagged;
        ck_assert_int_eq(spool_temporary(spool, &fd), 0);
        (void) write_snapshot(fd, &head);
        return fd;
}

static void put(const char *name, uint64_t start_ns, uid_t uid, bool tagged) {
        int fd = make_snapshot(name, start_ns, uid, tagged);

        ck_assert_int_eq(spool_publish(spool, fd, name, false, uid), 0);
        (void) close(fd);
}

static bool exists(const char *name) {
        char file[128];
        struct stat st;

        (void) snprintf(file, sizeof(file), "%s" SNAPSHOT_FILE_SUFFIX, name);
        return fstatat(dir.fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static unsigned count_files(void) {
        DIR *stream = opendir(dir.path);
        unsigned n = 0;

        ck_assert_ptr_nonnull(stream);
        for (struct dirent *entry; (entry = readdir(stream));)
                n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        (void) closedir(stream);
        return n;
}

/* The names of the list, each followed by a blank, damaged ones by a "!". */
static void check_list(const char *expected) {
        SpoolEntry *entries;
        char names[1024] = "";
        size_t n_entries;

        ck_assert_int_eq(spool_list(spool, &entries, &n_entries), 0);
        for (size_t i = 0; i < n_entries; i++) {
                (void) strcat(names, entries[i].head.name);
                (void) strcat(names, entries[i].damaged ? "! " : " ");
                ck_assert(entries[i].head.has_size);
                ck_assert_int_eq(entries[i].fault.text[0] != '\0', entries[i].damaged);
        }
        spool_entries_free(entries, n_entries);
        ck_assert_str_eq(names, expected);
}

static void put_garbage(const char *file) {
        int fd = test_dir_file(&dir, file);

        ck_assert_int_eq(write(fd, "garbage", 7), 7);
        (void) close(fd);
}

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
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000), SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 0), SPOOL_E_EXISTS);
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
        uint64_t start;
        Head head;

        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_publish(spool, fd, "x", true, replace_rows[_i].uid),
                         replace_rows[_i].expected);
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

        ck_assert_int_eq(spool_publish(spool, fd, "x", true, 1000), 0);
        ck_assert(exists("x"));
        (void) close(fd);
}
END_TEST

START_TEST(a_reader_keeps_what_it_opened) {
        int old, fd = make_snapshot("x", 20, 1000, true);
        Head head;

        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_open_snapshot(spool, "x", &old, NULL), 0);
        ck_assert_int_eq(spool_publish(spool, fd, "x", true, 1000), 0);
        ck_assert_int_eq(snapshot_file_verify(old, &head, NULL), 0);
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

        ck_assert_int_eq(spool_publish(spool, fd, name, false, 0), -EINVAL);
        ck_assert_int_eq(spool_publish(spool, fd, name, true, 0), -EINVAL);
        ck_assert_int_eq(spool_free_name(spool, name, free_name), -EINVAL);
        ck_assert_int_eq(spool_open_snapshot(spool, name, &other, NULL), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_remove(spool, name, 0), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_rename(spool, name, "y", 0, NULL), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_rename(spool, "y", name, 0, NULL), -EINVAL);
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

        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000), 0);
        ck_assert_uint_eq(count_files(), 1);
        ck_assert(exists("x"));
        (void) close(fd);

        fd = make_named(name);
        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 1000), SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_publish(spool, fd, "x", true, 1000), 0);
        ck_assert_uint_eq(count_files(), 1);
        (void) close(fd);
}
END_TEST

START_TEST(files_from_elsewhere_are_not_published) {
        int fd = test_dir_file(&dir, "foreign");

        ck_assert_int_eq(spool_publish(spool, fd, "x", false, 0), -EINVAL);
        ck_assert(!exists("x"));
        (void) close(fd);
}
END_TEST

/* listing */

START_TEST(lists_are_newest_first_and_damaged_last) {
        put("a", 10, 0, false);
        put("b", 30, 0, true);
        put("c", 20, 0, false);
        put("c-2", 20, 0, false);
        put_garbage("y" SNAPSHOT_FILE_SUFFIX);
        put_garbage("d" SNAPSHOT_FILE_SUFFIX);
        check_list("b c-2 c a d! y! ");
}
END_TEST

START_TEST(only_snapshots_are_listed) {
        put("a", 10, 0, false);
        put_garbage("b.zst");
        put_garbage("c.ctprof.zst.part");
        put_garbage(".d" SNAPSHOT_FILE_SUFFIX);
        put_garbage(SNAPSHOT_FILE_SUFFIX);
        put_garbage("latest" SNAPSHOT_FILE_SUFFIX);
        put_garbage("a b" SNAPSHOT_FILE_SUFFIX);
        ck_assert_int_eq(symlinkat("a" SNAPSHOT_FILE_SUFFIX, dir.fd, "s" SNAPSHOT_FILE_SUFFIX), 0);
        ck_assert_int_eq(mkdirat(dir.fd, "k" SNAPSHOT_FILE_SUFFIX, 0700), 0);
        ck_assert_int_eq(mkfifoat(dir.fd, "f" SNAPSHOT_FILE_SUFFIX, 0600), 0);
        check_list("a ");
}
END_TEST

START_TEST(the_file_name_is_the_name) {
        put("a", 10, 0, false);
        ck_assert_int_eq(
                renameat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, dir.fd, "moved" SNAPSHOT_FILE_SUFFIX),
                0);
        check_list("moved ");
}
END_TEST

START_TEST(an_empty_spool_lists_nothing) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        uint64_t n, n_bytes;

        check_list("");
        ck_assert_int_eq(spool_resolve(spool, SPAN_LITERAL("latest"), name), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_usage(spool, &n, &n_bytes), 0);
        ck_assert_uint_eq(n, 0);
        ck_assert_uint_eq(n_bytes, 0);
}
END_TEST

START_TEST(usage_counts_bytes_of_snapshots_only) {
        SpoolEntry *entries;
        uint64_t n, n_bytes;
        size_t n_entries;

        put("a", 10, 0, false);
        put_garbage("b" SNAPSHOT_FILE_SUFFIX);
        put_garbage("other");
        ck_assert_int_eq(spool_usage(spool, &n, &n_bytes), 0);
        ck_assert_uint_eq(n, 2);
        ck_assert_int_eq(spool_list(spool, &entries, &n_entries), 0);
        ck_assert_uint_eq(n_entries, 2);
        ck_assert_uint_eq(n_bytes, entries[0].head.size_bytes + 7);
        spool_entries_free(entries, n_entries);
}
END_TEST

static const struct {
        const char *reference;
        const char *name; /* NULL: not found */
} resolve_rows[] = {
        { "latest", "c" },
        { "latest~0", "c" },
        { "latest~1", "b" },
        { "latest~2", "a" },
        { "latest~3", NULL }, /* damaged ones have no time */
        { "latest~18446744073709551616", NULL },
        { "latest~", NULL },
        { "latest~-1", NULL },
        { "latest1", NULL },
        { "latesT", NULL },
        { "a", "a" },
        { "zz", "zz" }, /* damaged, but there */
        { "d", NULL },
        { "", NULL },
        { "a" SNAPSHOT_FILE_SUFFIX, NULL },
        { "../a", NULL },
};

START_TEST(references_resolve_to_names) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        put("b", 20, 0, false);
        put("a", 10, 0, false);
        put("c", 30, 0, false);
        put_garbage("zz" SNAPSHOT_FILE_SUFFIX);
        r = spool_resolve(spool, span_of(resolve_rows[_i].reference), name);
        ck_assert_int_eq(r, resolve_rows[_i].name ? 0 : SPOOL_E_NOT_FOUND);
        if (resolve_rows[_i].name)
                ck_assert_str_eq(name, resolve_rows[_i].name);
}
END_TEST

START_TEST(damaged_snapshots_open_without_head_only) {
        Head head;
        int fd;

        put_garbage("a" SNAPSHOT_FILE_SUFFIX);
        ck_assert_int_eq(spool_open_snapshot(spool, "a", &fd, &head), SPOOL_E_DAMAGED);
        ck_assert_int_eq(spool_open_snapshot(spool, "a", &fd, NULL), 0);
        (void) close(fd);
        ck_assert_int_eq(spool_open_snapshot(spool, "b", &fd, NULL), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(symlinkat("a" SNAPSHOT_FILE_SUFFIX, dir.fd, "s" SNAPSHOT_FILE_SUFFIX), 0);
        ck_assert_int_eq(spool_open_snapshot(spool, "s", &fd, NULL), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(mkfifoat(dir.fd, "f" SNAPSHOT_FILE_SUFFIX, 0600), 0);
        ck_assert_int_eq(spool_open_snapshot(spool, "f", &fd, NULL), SPOOL_E_NOT_FOUND);
}
END_TEST

/* removing and renaming */

START_TEST(only_owners_remove) {
        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_remove(spool, "x", 1001), SPOOL_E_NOT_OWNER);
        ck_assert(exists("x"));
        ck_assert_int_eq(spool_remove(spool, "x", 1000), 0);
        ck_assert(!exists("x"));
        ck_assert_int_eq(spool_remove(spool, "x", 1000), SPOOL_E_NOT_FOUND);
        put("x", 10, 1000, true);
        ck_assert_int_eq(spool_remove(spool, "x", 0), 0);
        ck_assert_uint_eq(count_files(), 0);
}
END_TEST

START_TEST(a_damaged_file_belongs_to_whose_file_it_is) {
        uid_t stranger = getuid() + 4711;

        put_garbage("x" SNAPSHOT_FILE_SUFFIX);
        ck_assert_int_eq(spool_remove(spool, "x", stranger), SPOOL_E_NOT_OWNER);
        ck_assert_int_eq(spool_remove(spool, "x", getuid()), 0);
        ck_assert(!exists("x"));
}
END_TEST

START_TEST(a_renamed_snapshot_is_tagged_and_whole) {
        Head head, read;
        int fd;

        put("20260101T000000.000Z", 10, 1000, false);
        ck_assert_int_eq(spool_rename(spool, "20260101T000000.000Z", "kept", 1000, &head), 0);
        ck_assert_str_eq(head.name, "kept");
        ck_assert(head.tagged && head.has_size);
        head_done(&head);
        ck_assert_uint_eq(count_files(), 1);
        ck_assert_int_eq(spool_open_snapshot(spool, "kept", &fd, NULL), 0);
        ck_assert_int_eq(snapshot_file_verify(fd, &read, NULL), 0);
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
        ck_assert_int_eq(spool_rename(spool, "a", "b", 1000, &head), SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_rename(spool, "a", "a", 1000, &head), SPOOL_E_EXISTS);
        ck_assert_int_eq(spool_rename(spool, "a", "c", 1001, &head), SPOOL_E_NOT_OWNER);
        ck_assert_int_eq(spool_rename(spool, "c", "d", 1000, &head), SPOOL_E_NOT_FOUND);
        ck_assert_int_eq(spool_rename(spool, "z", "d", 0, &head), SPOOL_E_DAMAGED);
        check_list("b a z! ");
        ck_assert_uint_eq(count_files(), 3);
}
END_TEST

START_TEST(a_damaged_body_is_not_renamed) {
        Head head;
        int fd;

        put("a", 10, 1000, false);
        fd = openat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, O_WRONLY);
        ck_assert_int_eq(pwrite(fd, "\xff", 1, 20), 1);
        (void) close(fd);
        ck_assert_int_eq(spool_rename(spool, "a", "b", 1000, &head), SPOOL_E_DAMAGED);
        ck_assert(exists("a") && !exists("b"));
        ck_assert_uint_eq(count_files(), 1);
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
        fd = make_named(busy); /* somebody is writing it */
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

/* room */

/* Of one snapshot of these tests, names being of one length. */
static uint64_t size_of(const char *name) {
        char file[128];
        struct stat st;

        (void) snprintf(file, sizeof(file), "%s" SNAPSHOT_FILE_SUFFIX, name);
        ck_assert_int_eq(fstatat(dir.fd, file, &st, 0), 0);
        return (uint64_t) st.st_size;
}

static void check_room(const SpoolLimits *limits, uint64_t n_bytes, int expected,
                       const char *expected_rotated) {
        Buffer rotated;

        buffer_init(&rotated, 0);
        ck_assert_int_eq(spool_make_room(spool, limits, n_bytes, &rotated), expected);
        ck_assert(span_is(buffer_span(&rotated), expected_rotated));
        buffer_done(&rotated);
}

START_TEST(within_the_budget_nothing_is_rotated) {
        SpoolLimits none = {}, exact;

        put("a", 10, 0, false);
        put("b", 20, 0, false);
        exact = (SpoolLimits){ .max_bytes = size_of("a") + size_of("b") + 100 };
        check_room(&none, UINT64_C(1) << 20, 0, "");
        check_room(&exact, 100, 0, "");
        check_list("b a ");
        check_room(&exact, 101, 0, "a\n");
        check_list("b ");
}
END_TEST

START_TEST(the_oldest_untagged_go_first) {
        SpoolLimits limits;

        put("a", 10, 0, true);
        put("b", 20, 0, false);
        put("c", 30, 0, false);
        put("d", 40, 0, false);
        put_garbage("z" SNAPSHOT_FILE_SUFFIX);
        limits = (SpoolLimits){ .max_bytes = size_of("a") + size_of("d") + 7 };
        check_room(&limits, 0, 0, "b\nc\n");
        check_list("d a z! ");
}
END_TEST

START_TEST(what_cannot_fit_removes_nothing) {
        SpoolLimits limits;

        put("a", 10, 0, true);
        put("b", 20, 0, false);
        limits = (SpoolLimits){ .max_bytes = size_of("a") + 50, .max_age_ns = 1 };
        check_room(&limits, 51, SPOOL_E_FULL, "");
        check_list("b a ");
        ck_assert_ptr_nonnull(strstr(spool_complaint(spool), dir.path));
        ck_assert_ptr_nonnull(strstr(spool_complaint(spool), "budget"));
        check_room(&limits, 50, 0, "b\n");
        check_list("a ");
}
END_TEST

START_TEST(the_file_system_keeps_its_floor) {
        SpoolLimits limits = { .keep_free_bytes = UINT64_MAX / 2 };

        put("a", 10, 0, false);
        check_room(&limits, 0, SPOOL_E_FULL, "");
        check_list("a ");
        ck_assert_ptr_nonnull(strstr(spool_complaint(spool), dir.path));
        ck_assert_ptr_nonnull(strstr(spool_complaint(spool), "free"));
        limits.keep_free_bytes = UINT64_MAX; /* saturates instead of wrapping */
        check_room(&limits, UINT64_MAX, SPOOL_E_FULL, "");
        limits.keep_free_bytes = 0;
        check_room(&limits, 1, 0, "");
}
END_TEST

START_TEST(untagged_snapshots_age) {
        SpoolLimits limits = { .max_age_ns = 3600 * NSEC_PER_SEC };
        struct timespec now;
        uint64_t now_ns;

        ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
        now_ns = (uint64_t) now.tv_sec * NSEC_PER_SEC;
        put("old", now_ns - 3700 * NSEC_PER_SEC, 0, false);
        put("kept", now_ns - 3700 * NSEC_PER_SEC, 0, true);
        put("young", now_ns - 3500 * NSEC_PER_SEC, 0, false);
        put("future", now_ns + 3600 * NSEC_PER_SEC, 0, false);
        check_room(&limits, 0, 0, "old\n");
        check_list("future young kept ");
        limits.max_age_ns = 0;
        check_room(&limits, 0, 0, "");
}
END_TEST

START_TEST(default_limits_suit_the_file_system) {
        SpoolLimits limits = spool_default_limits(dir.fd);
        struct statvfs fs;
        uint64_t total;

        ck_assert_int_eq(fstatvfs(dir.fd, &fs), 0);
        total = (uint64_t) fs.f_blocks * fs.f_frsize;
        ck_assert_uint_gt(limits.max_bytes, 0);
        ck_assert_uint_le(limits.max_bytes, UINT64_C(4) << 30);
        ck_assert_uint_le(limits.max_bytes, total / 10 + 1);
        ck_assert_uint_le(limits.keep_free_bytes, UINT64_C(4) << 30);
        ck_assert_uint_le(limits.keep_free_bytes, total / 100 * 15);
        ck_assert_uint_eq(limits.max_age_ns, 0);
        /* No file system at all: still a budget. */
        ck_assert_uint_eq(spool_default_limits(-1).max_bytes, UINT64_C(4) << 30);
}
END_TEST

static const struct {
        int error, code;
        const char *part;
} explain_rows[] = {
        { -ENOSPC, SPOOL_E_FULL, "remove snapshots" },
        { -EDQUOT, SPOOL_E_FULL, "quota" },
        { -EROFS, SPOOL_E_UNAVAILABLE, "read-only" },
        { -EACCES, SPOOL_E_UNAVAILABLE, "written" },
        { -EPERM, SPOOL_E_UNAVAILABLE, "written" },
        { -EIO, -EIO, NULL },
        { 0, 0, NULL },
        { SPOOL_E_EXISTS, SPOOL_E_EXISTS, NULL },
};

START_TEST(errors_of_writing_are_explained) {
        ck_assert_int_eq(spool_explain(spool, explain_rows[_i].error), explain_rows[_i].code);
        if (explain_rows[_i].part) {
                ck_assert_ptr_nonnull(strstr(spool_complaint(spool), explain_rows[_i].part));
                ck_assert_ptr_nonnull(strstr(spool_complaint(spool), dir.path));
        } else {
                ck_assert_str_eq(spool_complaint(spool), "");
        }
}
END_TEST

/* directories that are none */

static void check_unavailable(const char *path, const char *part) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        SpoolLimits limits = {};
        SpoolEntry *entries;
        size_t n_entries;
        Spool *broken;
        Buffer rotated;
        uint64_t n;
        Head head;
        int fd;

        ck_assert_int_eq(spool_open(path, &broken), SPOOL_E_UNAVAILABLE);
        ck_assert_msg(strstr(spool_complaint(broken), part) != NULL,
                      "\"%s\" says nothing of \"%s\"", spool_complaint(broken), part);
        ck_assert_ptr_nonnull(strstr(spool_complaint(broken), dir.path));
        ck_assert_ptr_null(strchr(spool_complaint(broken), '\n'));

        /* It answers so to every call. */
        buffer_init(&rotated, 0);
        ck_assert_int_eq(spool_list(broken, &entries, &n_entries), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_resolve(broken, SPAN_LITERAL("latest"), name), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_open_snapshot(broken, "a", &fd, &head), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_usage(broken, &n, &n), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_clean(broken), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_temporary(broken, &fd), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_make_room(broken, &limits, 0, &rotated), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_publish(broken, dir.fd, "a", false, 0), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_free_name(broken, "a", name), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_remove(broken, "a", 0), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_rename(broken, "a", "b", 0, NULL), SPOOL_E_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(spool_complaint(broken), part));
        buffer_done(&rotated);
        broken = spool_free(broken);
}

START_TEST(a_spool_that_is_no_directory_says_so) {
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/missing", dir.path);
        check_unavailable(path, "does not exist");
        (void) snprintf(path, sizeof(path), "%s/file", dir.path);
        put_garbage("file");
        check_unavailable(path, "is not a directory");
        (void) snprintf(path, sizeof(path), "%s/file/below", dir.path);
        check_unavailable(path, "cannot be opened");
        ck_assert_int_eq(symlinkat(".", dir.fd, "link"), 0);
        (void) snprintf(path, sizeof(path), "%s/link", dir.path);
        check_unavailable(path, "is a symbolic link");
        (void) snprintf(path, sizeof(path), "%s/link//", dir.path);
        check_unavailable(path, "is a symbolic link");
}
END_TEST

START_TEST(a_spool_that_may_not_be_written_can_be_read) {
        uid_t us = geteuid();
        SpoolEntry *entries;
        size_t n_entries;
        char path[128];
        Spool *fixed;
        int fd;

        ck_assert_int_eq(chmod(dir.path, 0755), 0);
        ck_assert_int_eq(mkdirat(dir.fd, "fixed", 0555), 0);
        (void) snprintf(path, sizeof(path), "%s/fixed", dir.path);
        if (us == 0) /* who may write everywhere */
                ck_assert_int_eq(seteuid(65534), 0);
        ck_assert_int_eq(spool_open(path, &fixed), 0);
        ck_assert_int_eq(spool_list(fixed, &entries, &n_entries), 0);
        ck_assert_uint_eq(n_entries, 0);
        spool_entries_free(entries, n_entries);
        ck_assert_int_eq(spool_temporary(fixed, &fd), SPOOL_E_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(spool_complaint(fixed), "may not be written"));
        (void) spool_free(fixed);
        if (us == 0)
                ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(a_spool_that_comes_back_is_used_again) {
        SpoolEntry *entries;
        size_t n_entries;
        char path[128];
        Spool *late;

        (void) snprintf(path, sizeof(path), "%s/late", dir.path);
        ck_assert_int_eq(spool_open(path, &late), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_refresh(late), 0);
        ck_assert_int_eq(spool_list(late, &entries, &n_entries), SPOOL_E_UNAVAILABLE);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(mkdir(path, 0755), 0);
                ck_assert_int_eq(spool_refresh(late), 0);
                ck_assert_int_eq(spool_list(late, &entries, &n_entries), 0);
                spool_entries_free(entries, n_entries);
                ck_assert_int_eq(rmdir(path), 0); /* and made anew: another directory */
        }
        ck_assert_int_eq(spool_refresh(late), 0);
        ck_assert_int_eq(spool_list(late, &entries, &n_entries), SPOOL_E_UNAVAILABLE);
        (void) spool_free(late);
}
END_TEST

START_TEST(an_adopted_directory_is_a_spool) {
        Spool *adopted;
        Head head;
        int fd;

        put("a", 10, 0, false);
        ck_assert_int_eq(spool_adopt(dup(dir.fd), "/somewhere", &adopted), 0);
        ck_assert_str_eq(spool_path(adopted), "/somewhere");
        ck_assert_int_ge(spool_dir_fd(adopted), 0);
        ck_assert_int_eq(spool_open_snapshot(adopted, "a", &fd, &head), 0);
        head_done(&head);
        (void) close(fd);
        adopted = spool_free(adopted);
        ck_assert_ptr_null(spool_free(NULL));
}
END_TEST

static TCase *case_new(Suite *suite, const char *name) {
        TCase *tcase = tcase_create(name);

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        suite_add_tcase(suite, tcase);
        return tcase;
}

static void add_reading(Suite *suite) {
        TCase *list = case_new(suite, "list");

        tcase_add_test(list, lists_are_newest_first_and_damaged_last);
        tcase_add_test(list, only_snapshots_are_listed);
        tcase_add_test(list, the_file_name_is_the_name);
        tcase_add_test(list, an_empty_spool_lists_nothing);
        tcase_add_test(list, usage_counts_bytes_of_snapshots_only);
        tcase_add_loop_test(list, references_resolve_to_names, 0, ELEMENTSOF(resolve_rows));
        tcase_add_test(list, damaged_snapshots_open_without_head_only);
}

static void add_writing(Suite *suite) {
        TCase *publish = case_new(suite, "publish"), *remove = case_new(suite, "remove");

        tcase_add_test(publish, a_published_snapshot_is_there_whole);
        tcase_add_test(publish, nothing_is_seen_before_it_is_published);
        tcase_add_test(publish, a_taken_name_is_refused_and_kept);
        tcase_add_loop_test(publish, only_owners_replace, 0, ELEMENTSOF(replace_rows));
        tcase_add_test(publish, replacing_nothing_is_publishing);
        tcase_add_test(publish, a_reader_keeps_what_it_opened);
        tcase_add_loop_test(publish, names_outside_the_grammar_are_never_files, 0,
                            ELEMENTSOF(bad_names));
        tcase_add_test(publish, free_names_count_up);
        tcase_add_test(publish, named_temporaries_are_published_too);
        tcase_add_test(publish, files_from_elsewhere_are_not_published);
        tcase_add_test(remove, only_owners_remove);
        tcase_add_test(remove, a_damaged_file_belongs_to_whose_file_it_is);
        tcase_add_test(remove, a_renamed_snapshot_is_tagged_and_whole);
        tcase_add_test(remove, renaming_refuses_and_leaves_all_as_it_was);
        tcase_add_test(remove, a_damaged_body_is_not_renamed);
        tcase_add_test(remove, cleaning_removes_left_over_dot_names_and_nothing_else);
}

int main(void) {
        Suite *suite = suite_create("spool");
        TCase *room, *life;

        add_writing(suite);
        add_reading(suite);
        room = case_new(suite, "room");
        tcase_add_test(room, within_the_budget_nothing_is_rotated);
        tcase_add_test(room, the_oldest_untagged_go_first);
        tcase_add_test(room, what_cannot_fit_removes_nothing);
        tcase_add_test(room, the_file_system_keeps_its_floor);
        tcase_add_test(room, untagged_snapshots_age);
        tcase_add_test(room, default_limits_suit_the_file_system);
        tcase_add_loop_test(room, errors_of_writing_are_explained, 0, ELEMENTSOF(explain_rows));
        life = case_new(suite, "life");
        tcase_add_test(life, a_spool_that_is_no_directory_says_so);
        tcase_add_test(life, a_spool_that_may_not_be_written_can_be_read);
        tcase_add_test(life, an_adopted_directory_is_a_spool);
        tcase_add_test(life, a_spool_that_comes_back_is_used_again);
        return check_main(suite);
}
