/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool-fixture.h"

#include <sys/statvfs.h>
#include <time.h>

/* room */

/* The size of one snapshot of these tests; their names have the same length. */
static uint64_t size_of(const char *name) {
        char file[128];
        struct stat st;

        (void) snprintf(file, sizeof(file), "%s" SNAPSHOT_FILE_SUFFIX, name);
        ck_assert_int_eq(fstatat(dir.fd, file, &st, 0), 0);
        return (uint64_t) st.st_blocks * 512;
}

static void check_need(const SpoolLimits *limits, SpoolNeed need, int expected,
                       const char *expected_rotated) {
        Buffer rotated;

        buffer_init(&rotated, 0);
        ck_assert_int_eq(spool_make_room(spool, limits, &need, &rotated), expected);
        ck_assert(span_is(buffer_span(&rotated), expected_rotated));
        buffer_done(&rotated);
}

static void check_replacing(const SpoolLimits *limits, uint64_t n_bytes, const char *replaces,
                            int expected, const char *expected_rotated) {
        check_need(limits, (SpoolNeed){ .n_bytes = n_bytes, .replaces = replaces }, expected,
                   expected_rotated);
}

static void check_room(const SpoolLimits *limits, uint64_t n_bytes, int expected,
                       const char *expected_rotated) {
        check_replacing(limits, n_bytes, NULL, expected, expected_rotated);
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
        limits = (SpoolLimits){ .max_bytes = size_of("a") + size_of("d") + size_of("z") };
        check_room(&limits, 0, 0, "b\nc\n");
        check_list("d a z! ");
}
END_TEST

START_TEST(what_the_file_system_allocated_counts) {
        SpoolLimits limits;
        uint64_t n_bytes;
        struct stat st;
        int fd;

        put("a", 10, 0, false);
        put("b", 20, 0, false);
        fd = openat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, O_RDWR | O_CLOEXEC);
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert_int_eq(spool_allocated_bytes(fd, &n_bytes), 0);
        ck_assert_uint_eq(n_bytes, (uint64_t) st.st_blocks * 512);
        /* A small file takes a whole block, however short it is. */
        if (n_bytes > (uint64_t) st.st_size) {
                limits = (SpoolLimits){ .max_bytes = 2 * n_bytes - 1 };
                check_room(&limits, 0, 0, "a\n");
                check_list("b ");
        }
        (void) close(fd);
        /* A hole takes nothing. */
        fd = test_dir_file(&dir, "z" SNAPSHOT_FILE_SUFFIX);
        ck_assert_int_eq(ftruncate(fd, 1 << 30), 0);
        ck_assert_int_eq(spool_allocated_bytes(fd, &n_bytes), 0);
        ck_assert_uint_lt(n_bytes, 1 << 20);
        (void) close(fd);
        limits = (SpoolLimits){ .max_bytes = 2 << 20 };
        check_room(&limits, 1 << 20, 0, "");
        check_list("b z! ");
}
END_TEST

/* Room for a snapshot of @uid that has @n_bytes already. */
static void check_user(const SpoolLimits *limits, uid_t uid, uint64_t n_bytes, int expected,
                       const char *expected_rotated) {
        check_need(limits, (SpoolNeed){ .n_bytes = n_bytes, .uid = uid }, expected,
                   expected_rotated);
}

START_TEST(beside_others_nobody_has_more_than_half) {
        SpoolLimits limits;
        uint64_t size;

        put("a", 10, 1, true);
        size = size_of("a");
        limits = (SpoolLimits){ .max_bytes = 6 * size };
        /* Alone a user may have all of it. */
        check_user(&limits, 1, 5 * size, 0, "");
        put("b", 20, 2, false);
        check_user(&limits, 1, 2 * size, 0, "");
        check_user(&limits, 1, 2 * size + 1, SPOOL_E_FULL, "");
        ck_assert_ptr_nonnull(strstr(spool->complaint, "share of one user"));
        ck_assert_ptr_nonnull(strstr(spool->complaint, "uid 1"));
        check_list("b a ");
        /* One's own untagged ones make room for oneself, and nobody else's do. */
        put("c", 5, 1, false);
        check_user(&limits, 1, 2 * size, 0, "c\n");
        check_list("b a ");
        /* Without a budget there are no shares. */
        limits.max_bytes = 0;
        check_user(&limits, 1, 100 * size, 0, "");
}
END_TEST

START_TEST(own_snapshots_go_first_then_those_of_the_largest_holder) {
        SpoolLimits limits;
        uint64_t size;

        put("a", 10, 1, false);
        size = size_of("a");
        put("b", 20, 2, false);
        put("c", 30, 2, false);
        put("d", 40, 3, false);
        put("e", 50, 1, false);
        limits = (SpoolLimits){ .max_bytes = 5 * size };
        /* Its own oldest goes, although others have older ones. */
        check_user(&limits, 3, size, 0, "d\n");
        check_list("e c b a ");
        /* Who has none takes from who has most: of two with as many, from the oldest. */
        check_user(&limits, 3, 2 * size, 0, "a\n");
        check_user(&limits, 3, 2 * size + 1, 0, "b\n");
        check_list("e c ");
        check_user(&limits, 3, 2 * size + size / 2, 0, "");
}
END_TEST

START_TEST(snapshots_are_counted) {
        SpoolLimits limits = { .max_snapshots = 5, .max_snapshots_per_uid = 2 };

        put("a", 10, 1, true);
        check_user(&limits, 1, 1, 0, "");
        put("b", 20, 1, false);
        put("c", 30, 2, false);
        /* One's own untagged one makes room. */
        check_user(&limits, 1, 1, 0, "b\n");
        put("d", 40, 1, true);
        check_user(&limits, 1, 1, SPOOL_E_FULL, "");
        ck_assert_ptr_nonnull(strstr(spool->complaint, "uid 1"));
        ck_assert_ptr_nonnull(strstr(spool->complaint, "2 of this user"));
        ck_assert_ptr_nonnull(strstr(spool->complaint, "MaxSnapshotsPerUser="));
        /* Replacing adds none. */
        check_need(&limits, (SpoolNeed){ .n_bytes = 1, .uid = 1, .replaces = "a" }, 0, "");
        /* Others are not concerned. */
        check_user(&limits, 2, 1, 0, "");
        put_garbage("z" SNAPSHOT_FILE_SUFFIX);
        check_user(&limits, 3, 1, 0, "");
        put("e", 50, 2, false);
        check_list("e d c a z! ");
        /* In total: the oldest of who has most untagged ones. */
        check_user(&limits, 3, 1, 0, "c\n");
        put("f", 60, 3, true);
        put("g", 70, 4, true);
        limits.max_snapshots = 4;
        check_user(&limits, 3, 1, SPOOL_E_FULL, "");
        ck_assert_ptr_nonnull(strstr(spool->complaint, "MaxSnapshots="));
        check_list("g f e d a z! ");
        limits = (SpoolLimits){ .max_bytes = 0 };
        check_user(&limits, 3, 1, 0, "");
}
END_TEST

START_TEST(inodes_are_kept_free_where_they_are_counted) {
        SpoolLimits limits = { .keep_free_files = UINT64_MAX };
        SpoolFree space;

        put("a", 10, 0, false);
        ck_assert_int_eq(spool_free_space(dir.fd, &space), 0);
        check_room(&limits, 1, space.has_files ? SPOOL_E_FULL : 0, "");
        if (space.has_files) {
                ck_assert_ptr_nonnull(strstr(spool->complaint, "inodes"));
                limits.keep_free_files = space.n_files / 2;
                check_room(&limits, 1, 0, "");
        }
        check_list("a ");
}
END_TEST

START_TEST(what_cannot_fit_removes_nothing) {
        SpoolLimits limits;

        put("a", 10, 0, true);
        put("b", 20, 0, false);
        limits = (SpoolLimits){ .max_bytes = size_of("a") + 50, .max_age_ns = 1 };
        check_room(&limits, 51, SPOOL_E_FULL, "");
        check_list("b a ");
        ck_assert_ptr_nonnull(strstr(spool->complaint, dir.path));
        ck_assert_ptr_nonnull(strstr(spool->complaint, "budget"));
        check_room(&limits, 50, 0, "b\n");
        check_list("a ");
}
END_TEST

START_TEST(the_file_system_keeps_its_floor) {
        SpoolLimits limits = { .keep_free_bytes = UINT64_MAX / 2 };

        put("a", 10, 0, false);
        check_room(&limits, 0, SPOOL_E_FULL, "");
        check_list("a ");
        ck_assert_ptr_nonnull(strstr(spool->complaint, dir.path));
        ck_assert_ptr_nonnull(strstr(spool->complaint, "free"));
        limits.keep_free_bytes = UINT64_MAX; /* saturates instead of wrapping */
        check_room(&limits, UINT64_MAX, SPOOL_E_FULL, "");
        limits.keep_free_bytes = 0;
        check_room(&limits, 1, 0, "");
}
END_TEST

START_TEST(what_is_written_is_no_longer_free_and_counts_once) {
        SpoolLimits limits = {};
        struct statvfs fs;
        uint64_t n_free;

        ck_assert_int_eq(fstatvfs(dir.fd, &fs), 0);
        n_free = (uint64_t) fs.f_bavail * fs.f_frsize;
        limits.keep_free_bytes = n_free / 2; /* others may write meanwhile, but hardly so much */
        check_room(&limits, n_free / 4 * 3, 0, "");
}
END_TEST

START_TEST(the_replaced_one_counts_as_gone_and_is_not_rotated) {
        SpoolLimits limits;

        put("a", 10, 0, true);
        put("b", 20, 0, false);
        put("c", 30, 0, false);
        put_garbage("z" SNAPSHOT_FILE_SUFFIX);
        limits = (SpoolLimits){ .max_bytes = size_of("a") + size_of("b") + size_of("c") +
                                             size_of("z") + 7 };
        check_replacing(&limits, size_of("a") + 7, "a", 0, "");
        check_replacing(&limits, size_of("b") + 7, "b", 0, "");
        check_replacing(&limits, size_of("z") + 7, "z", 0, "");
        check_list("c b a z! ");
        check_replacing(&limits, size_of("a") + 8, "a", 0, "b\n");
        check_list("c a z! ");
        limits = (SpoolLimits){ .max_bytes = size_of("a") + size_of("z") + 7, .max_age_ns = 1 };
        check_replacing(&limits, 8, "c", SPOOL_E_FULL, "");
        check_replacing(&limits, 7, "c", 0, "");
        check_list("c a z! ");
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
        /* Without a file system there is still a budget. */
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
                ck_assert_ptr_nonnull(strstr(spool->complaint, explain_rows[_i].part));
                ck_assert_ptr_nonnull(strstr(spool->complaint, dir.path));
        } else {
                ck_assert_str_eq(spool->complaint, "");
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("spool-room");
        TCase *room = case_new(suite, "room");

        tcase_add_test(room, within_the_budget_nothing_is_rotated);
        tcase_add_test(room, the_oldest_untagged_go_first);
        tcase_add_test(room, what_the_file_system_allocated_counts);
        tcase_add_test(room, beside_others_nobody_has_more_than_half);
        tcase_add_test(room, own_snapshots_go_first_then_those_of_the_largest_holder);
        tcase_add_test(room, snapshots_are_counted);
        tcase_add_test(room, inodes_are_kept_free_where_they_are_counted);
        tcase_add_test(room, what_cannot_fit_removes_nothing);
        tcase_add_test(room, the_file_system_keeps_its_floor);
        tcase_add_test(room, what_is_written_is_no_longer_free_and_counts_once);
        tcase_add_test(room, the_replaced_one_counts_as_gone_and_is_not_rotated);
        tcase_add_test(room, untagged_snapshots_age);
        tcase_add_test(room, default_limits_suit_the_file_system);
        tcase_add_loop_test(room, errors_of_writing_are_explained, 0, ELEMENTSOF(explain_rows));
        return check_main(suite);
}
