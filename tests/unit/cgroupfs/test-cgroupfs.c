/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <sys/stat.h>

#include "cgroup-tree.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "text/fixture.h"

static Cgroupfs *cgroupfs;

static void open_tree(const char *path) {
        int fd = fixture_open(path);

        ck_assert_int_eq(cgroupfs_open_directory(fd, &cgroupfs), 0);
        (void) close(fd); /* it has one of its own */
}

static void setup(void) {
        open_tree("cgroup/threaded");
}

static void teardown(void) {
        cgroupfs = cgroupfs_free(cgroupfs);
}

static const struct {
        const char *path;
        int r;
} open_rows[] = {
        { "/", 0 },
        { "/plain", 0 },
        { "/plain/workers", 0 },
        { "/old (deleted)", 0 }, /* a cgroup with that very name */
        { "/plain (deleted)", TEXT_E_VANISHED },
        { "/missing", TEXT_E_VANISHED },
        { "/plain/cgroup.type", TEXT_E_VANISHED },
        { "/plain/cgroup.type/x", TEXT_E_VANISHED },
        { "", TEXT_E_MALFORMED },
        { "plain", TEXT_E_MALFORMED },
        { "/..", TEXT_E_MALFORMED },
        { "/../threaded", TEXT_E_MALFORMED },
        { "/plain/..", TEXT_E_MALFORMED },
        { "/plain/../plain", TEXT_E_MALFORMED },
        { "/./plain", TEXT_E_MALFORMED },
        { "/plain/", TEXT_E_MALFORMED },
        { "//plain", TEXT_E_MALFORMED },
        { "//", TEXT_E_MALFORMED },
        { "/...", TEXT_E_VANISHED },
};

START_TEST(only_plain_paths_are_opened) {
        int fd = -EBADF;

        ck_assert_int_eq(cgroupfs_open_group(cgroupfs, span_of(open_rows[_i].path), &fd),
                         open_rows[_i].r);
        ck_assert_int_eq(fd >= 0, open_rows[_i].r == 0);
        (void) fd_close(fd);
}
END_TEST

START_TEST(paths_are_bytes_and_bounded) {
        char *path = malloc(CGROUPFS_PATH_BYTES);
        int fd = -EBADF;

        ck_assert_int_eq(cgroupfs_open_group(cgroupfs, (Span){ "/plain\0x", 8 }, &fd),
                         TEXT_E_MALFORMED);
        memset(path, 'a', CGROUPFS_PATH_BYTES);
        path[0] = '/';
        ck_assert_int_eq(cgroupfs_open_group(cgroupfs, (Span){ path, 256 }, &fd), TEXT_E_VANISHED);
        ck_assert_int_eq(cgroupfs_open_group(cgroupfs, (Span){ path, 257 }, &fd), TEXT_E_MALFORMED);
        for (size_t i = 0; i < CGROUPFS_PATH_BYTES; i += 128)
                path[i] = '/';
        ck_assert_int_eq(
                cgroupfs_open_group(cgroupfs, (Span){ path, CGROUPFS_PATH_BYTES - 1 }, &fd),
                TEXT_E_VANISHED);
        ck_assert_int_eq(cgroupfs_open_group(cgroupfs, (Span){ path, CGROUPFS_PATH_BYTES }, &fd),
                         TEXT_E_MALFORMED);
        free(path);
}
END_TEST

START_TEST(symbolic_links_are_not_followed) {
        char path[] = "/tmp/cgroupfs-XXXXXX";
        Cgroupfs *other;
        int dir_fd, fd = -EBADF;

        ck_assert_ptr_nonnull(mkdtemp(path));
        dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_eq(mkdirat(dir_fd, "real", 0700), 0);
        ck_assert_int_eq(symlinkat("real", dir_fd, "link"), 0);
        ck_assert_int_eq(symlinkat("/", dir_fd, "root"), 0);
        ck_assert_int_eq(cgroupfs_open_directory(dir_fd, &other), 0);
        ck_assert_int_eq(cgroupfs_open_group(other, span_of("/link"), &fd), TEXT_E_VANISHED);
        ck_assert_int_eq(cgroupfs_open_group(other, span_of("/root/tmp"), &fd), TEXT_E_VANISHED);
        ck_assert_int_eq(cgroupfs_open_group(other, span_of("/real"), &fd), 0);
        (void) close(fd);
        other = cgroupfs_free(other);
        (void) unlinkat(dir_fd, "link", 0);
        (void) unlinkat(dir_fd, "root", 0);
        (void) unlinkat(dir_fd, "real", AT_REMOVEDIR);
        (void) close(dir_fd);
        (void) rmdir(path);
}
END_TEST

START_TEST(the_tree_need_not_be_mounted_to_be_looked_for) {
        static const char *const paths[] = { "proc/7.2-scx", "proc/edge-names" };
        Cgroupfs *found = NULL;

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                int fd = fixture_open(paths[i]);
                int r = cgroupfs_open(fd, &found);

                /* The mount in the fixture may exist on the machine that runs the test. */
                ck_assert(r == CGROUPFS_E_NO_MOUNT || r == TEXT_E_DENIED || r == TEXT_E_ABSENT ||
                          (r == 0 && found->root_fd >= 0));
                found = cgroupfs_free(found);
                (void) close(fd);
        }
}
END_TEST

static const struct {
        const char *path, *parent; /* NULL: none */
} parent_rows[] = {
        { "/a/b/c", "/a/b" }, { "/a/b", "/a" }, { "/a", "/" }, { "/", NULL }, { "", NULL },
};

START_TEST(parents_end_at_the_root) {
        Span parent;

        ck_assert_int_eq(cgroup_path_parent(span_of(parent_rows[_i].path), &parent),
                         parent_rows[_i].parent != NULL);
        if (parent_rows[_i].parent)
                ck_assert(span_is(parent, parent_rows[_i].parent));
}
END_TEST

static const struct {
        const char *path;
        bool threaded;
        bool threaded_child;
} type_rows[] = {
        { "/", false, true },     { "/plain", false, true },  { "/plain/workers", true, false },
        { "/pool", true, false }, { "/parent", true, false }, { "/broken", false, false },
};

START_TEST(types_say_where_threads_may_be) {
        bool threaded, threaded_child;
        int fd = -EBADF;

        ck_assert_int_eq(cgroupfs_open_group(cgroupfs, span_of(type_rows[_i].path), &fd), 0);
        ck_assert_int_eq(cgroup_is_threaded(fd, &threaded), 0);
        ck_assert_int_eq(threaded, type_rows[_i].threaded);
        ck_assert_int_eq(cgroup_has_threaded_child(fd, &threaded_child), 0);
        ck_assert_int_eq(threaded_child, type_rows[_i].threaded_child);
        (void) close(fd);
}
END_TEST

START_TEST(a_root_with_domains_only_has_no_threaded_child) {
        Cgroupfs *threaded = cgroupfs;
        bool answer;

        open_tree("cgroup/6.12-schedstats");
        ck_assert_int_eq(cgroup_has_threaded_child(cgroupfs->root_fd, &answer), 0);
        ck_assert(!answer);
        cgroupfs = cgroupfs_free(cgroupfs);
        cgroupfs = threaded;
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroupfs");
        TCase *group = tcase_create("group");
        TCase *type = tcase_create("type");

        tcase_add_checked_fixture(group, setup, teardown);
        tcase_add_checked_fixture(type, setup, teardown);
        tcase_add_loop_test(group, only_plain_paths_are_opened, 0, ELEMENTSOF(open_rows));
        tcase_add_test(group, paths_are_bytes_and_bounded);
        tcase_add_test(group, symbolic_links_are_not_followed);
        tcase_add_test(group, the_tree_need_not_be_mounted_to_be_looked_for);
        tcase_add_loop_test(group, parents_end_at_the_root, 0, ELEMENTSOF(parent_rows));
        tcase_add_loop_test(type, types_say_where_threads_may_be, 0, ELEMENTSOF(type_rows));
        tcase_add_test(type, a_root_with_domains_only_has_no_threaded_child);
        suite_add_tcase(suite, group);
        suite_add_tcase(suite, type);
        return check_main(suite);
}
