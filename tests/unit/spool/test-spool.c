/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool-fixture.h"

/* listing */

/* Not by the time that a file claims. */
START_TEST(lists_are_in_the_order_of_publishing_and_damaged_last) {
        put("a", 10, 0, false);
        put("c", 20, 0, false);
        put("c-2", UINT64_MAX, 0, false);
        put("b", 15, 0, true);
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

        check_list("");
        ck_assert_int_eq(spool_resolve(spool, SPAN_LITERAL("latest"), name), SPOOL_E_NOT_FOUND);
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
        { "latest~3", NULL }, /* damaged snapshots have no time */
        { "latest~18446744073709551616", NULL },
        { "latest~", NULL },
        { "latest~-1", NULL },
        { "latest1", NULL },
        { "latesT", NULL },
        { "a", "a" },
        { "i", "i" }, /* imported */
        { "j", "j" },
        { "zz", "zz" }, /* damaged, but there */
        { "d", NULL },
        { "", NULL },
        { "a" SNAPSHOT_FILE_SUFFIX, NULL },
        { "../a", NULL },
};

START_TEST(references_resolve_to_names) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        put("a", 30, 0, false);
        put_import("i", 40, 0);
        put("b", 20, 0, false);
        put("c", 10, 0, false);
        /* Dated 2262, and published last. */
        put_import("j", UINT64_C(9214646400) * NSEC_PER_SEC, 0);
        put_garbage("zz" SNAPSHOT_FILE_SUFFIX);
        r = spool_resolve(spool, span_of(resolve_rows[_i].reference), name);
        ck_assert_int_eq(r, resolve_rows[_i].name ? 0 : SPOOL_E_NOT_FOUND);
        if (resolve_rows[_i].name)
                ck_assert_str_eq(name, resolve_rows[_i].name);
}
END_TEST

static uint64_t published_ns(const char *name) {
        uint64_t ns;
        Head head;
        int fd;

        ck_assert_int_eq(spool_open_snapshot(spool, name, &fd, &head), 0);
        ck_assert(head.has_published && head.has_allocated && head.has_size);
        ns = head.published_realtime_ns;
        head_done(&head);
        (void) close(fd);
        return ns;
}

START_TEST(times_of_publishing_rise_also_when_the_clock_goes_back) {
        struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 9000000000 } };

        put("a", 10, 0, false);
        ck_assert_int_eq(utimensat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, times, 0), 0);
        put("b", 20, 0, false);
        put("c", 30, 0, false);
        ck_assert_uint_gt(published_ns("b"), published_ns("a"));
        ck_assert_uint_gt(published_ns("c"), published_ns("b"));
        check_list("c b a ");
}
END_TEST

START_TEST(a_renamed_snapshot_keeps_its_place) {
        uint64_t ns;
        Head head;

        put("a", 10, 0, false);
        put_import("i", 15, 0);
        put("b", 20, 0, false);
        ns = published_ns("a");
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "a", "z", 0, &head), 0);
        ck_assert_uint_eq(head.published_realtime_ns, ns);
        head_done(&head);
        ck_assert_uint_eq(published_ns("z"), ns);
        ck_assert_int_eq(spool_rename(spool, &(SpoolLimits){}, "i", "y", 0, NULL), 0);
        check_list("b y z ");
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

/* directories that are none */

static void check_unavailable(const char *path, const char *part) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        SpoolLimits limits = {};
        SpoolEntry *entries;
        size_t n_entries;
        Spool *broken;
        Buffer rotated;
        Head head;
        int fd;

        ck_assert_int_eq(spool_open(path, &broken), SPOOL_E_UNAVAILABLE);
        ck_assert_msg(strstr(broken->complaint, part) != NULL, "\"%s\" says nothing of \"%s\"",
                      broken->complaint, part);
        ck_assert_ptr_nonnull(strstr(broken->complaint, dir.path));
        ck_assert_ptr_null(strchr(broken->complaint, '\n'));

        /* Every call returns this error. */
        buffer_init(&rotated, 0);
        ck_assert_int_eq(spool_list(broken, &entries, &n_entries), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_resolve(broken, SPAN_LITERAL("latest"), name), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_open_snapshot(broken, "a", &fd, &head), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_clean(broken), SPOOL_E_UNAVAILABLE);
        ck_assert(spool_may_be_unclean(broken));
        ck_assert_int_eq(spool_temporary(broken, &fd), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_make_room(broken, &limits, &(SpoolNeed){}, &rotated),
                         SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_publish(broken, dir.fd, "a", false, 0, NULL), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_free_name(broken, "a", name), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(remove_one(broken, "a", 0), SPOOL_E_UNAVAILABLE);
        ck_assert_int_eq(spool_rename(broken, &(SpoolLimits){}, "a", "b", 0, NULL),
                         SPOOL_E_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(broken->complaint, part));
        buffer_done(&rotated);
        broken = spool_free(broken);
}

START_TEST(a_spool_that_is_no_directory_says_so) {
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/missing", dir.path);
        check_unavailable(path, "does not exist");
        check_unavailable(path, "make that directory");
        check_unavailable(path, "--spool DIR");
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
        if (us == 0) /* root may write everywhere */
                ck_assert_int_eq(seteuid(65534), 0);
        ck_assert_int_eq(spool_open(path, &fixed), 0);
        ck_assert_int_eq(spool_list(fixed, &entries, &n_entries), 0);
        ck_assert_uint_eq(n_entries, 0);
        spool_entries_free(entries, n_entries);
        ck_assert_int_eq(spool_temporary(fixed, &fd), SPOOL_E_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(fixed->complaint, "cannot be written"));
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
        ck_assert(!spool_refresh(late));
        ck_assert_int_eq(spool_list(late, &entries, &n_entries), SPOOL_E_UNAVAILABLE);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(mkdir(path, 0755), 0);
                ck_assert(spool_refresh(late));
                ck_assert(!spool_refresh(late));
                ck_assert_int_eq(spool_list(late, &entries, &n_entries), 0);
                spool_entries_free(entries, n_entries);
                ck_assert_int_eq(rmdir(path), 0); /* the next round creates another directory */
        }
        ck_assert(!spool_refresh(late));
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
        ck_assert_str_eq(adopted->path, "/somewhere");
        ck_assert_int_ge(adopted->dir_fd, 0);
        ck_assert_int_eq(spool_open_snapshot(adopted, "a", &fd, &head), 0);
        head_done(&head);
        (void) close(fd);
        adopted = spool_free(adopted);
        ck_assert_ptr_null(spool_free(NULL));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("spool");
        TCase *list = case_new(suite, "list");
        TCase *life = case_new(suite, "life");

        tcase_add_test(list, lists_are_in_the_order_of_publishing_and_damaged_last);
        tcase_add_test(list, only_snapshots_are_listed);
        tcase_add_test(list, the_file_name_is_the_name);
        tcase_add_test(list, an_empty_spool_lists_nothing);
        tcase_add_loop_test(list, references_resolve_to_names, 0, ELEMENTSOF(resolve_rows));
        tcase_add_test(list, times_of_publishing_rise_also_when_the_clock_goes_back);
        tcase_add_test(list, a_renamed_snapshot_keeps_its_place);
        tcase_add_test(list, damaged_snapshots_open_without_head_only);
        tcase_add_test(life, a_spool_that_is_no_directory_says_so);
        tcase_add_test(life, a_spool_that_may_not_be_written_can_be_read);
        tcase_add_test(life, an_adopted_directory_is_a_spool);
        tcase_add_test(life, a_spool_that_comes_back_is_used_again);
        return check_main(suite);
}
