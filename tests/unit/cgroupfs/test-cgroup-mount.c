/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/cgroupfs/cgroupfs.h"
#include "text/fixture.h"

static CgroupMount mount;

static const struct {
        const char *path;
        size_t nth;
        const char *point; /* NULL: no such candidate */
        const char *root;
} fixture_rows[] = {
        { "proc/6.1-schedstats/self/mountinfo", 0, "/sys/fs/cgroup", "/" },
        { "proc/6.1-schedstats/self/mountinfo", 1, NULL, NULL },
        { "proc/6.12-schedstats/self/mountinfo", 0, "/sys/fs/cgroup", "/" },
        { "proc/7.2-scx/self/mountinfo", 0, "/sys/fs/cgroup", "/" },
        { "mountinfo/hybrid", 0, "/sys/fs/cgroup/unified", "/" },
        { "mountinfo/hybrid", 1, NULL, NULL },
        { "mountinfo/bind", 0, "/mnt/tab\tback\\slash", "/" },
        { "mountinfo/bind", 1, "/mnt/one cgroup", "/machine.slice/vm 1" },
        { "mountinfo/bind", 2, NULL, NULL },
        { "mountinfo/v1-only", 0, NULL, NULL },
};

START_TEST(whole_hierarchies_come_first) {
        Span text = fixture_read(fixture_rows[_i].path);
        int r = cgroup_mount_parse(text, fixture_rows[_i].nth, &mount);

        if (fixture_rows[_i].point) {
                ck_assert_int_eq(r, 0);
                ck_assert_str_eq(mount.point, fixture_rows[_i].point);
                ck_assert_str_eq(mount.root, fixture_rows[_i].root);
        } else {
                ck_assert_int_eq(r, CGROUPFS_E_NO_MOUNT);
        }
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_text_has_no_wrong_mounts) {
        Span text = fixture_read(fixture_rows[_i].path);

        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (cgroup_mount_parse(cut, 0, &mount) == 0)
                        ck_assert(strstr("/sys/fs/cgroup /sys/fs/cgroup/unified /mnt/one cgroup "
                                         "/mnt/tab\tback\\slash ",
                                         mount.point));
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

static const char *const broken_rows[] = {
        "",
        "\n",
        "31 30 0:26 / /x rw\n",
        "31 30 0:26 / /x rw -\n",
        "31 30 0:26 / /x rw shared:1 cgroup2 cgroup2 rw\n",
        "31 30 0:26 / /x rw - cgroup2x cgroup2 rw\n",
        "31 30 0:26 / /x rw - ext4 cgroup2 cgroup2\n",
        "31 30 0:26 / x rw - cgroup2 cgroup2 rw\n",
        "31 30 0:26 / /x\\000y rw - cgroup2 cgroup2 rw\n",
        "31 30 0:26 x /x rw - cgroup2 cgroup2 rw\n",
        "31 30 0:26 /.. /x rw - cgroup2 cgroup2 rw\n",
        "31 30 0:26 /../../a /x rw - cgroup2 cgroup2 rw\n",
        "31 30 0:26 /../ /x rw - cgroup2 cgroup2 rw\n",
        "31 30 0:26 /\\056. /x rw - cgroup2 cgroup2 rw\n",
};

START_TEST(what_is_no_mount_of_ours_is_passed_over) {
        ck_assert_int_eq(cgroup_mount_parse(span_of(broken_rows[_i]), 0, &mount),
                         CGROUPFS_E_NO_MOUNT);
}
END_TEST

START_TEST(half_an_escape_is_taken_as_it_is) {
        ck_assert_int_eq(
                cgroup_mount_parse(span_of("31 30 0:26 / /a\\04\\048\\40 rw - cgroup2 n rw\n"), 0,
                                   &mount),
                0);
        ck_assert_str_eq(mount.point, "/a\\04\\048\\40");
}
END_TEST

START_TEST(a_path_that_does_not_fit_is_passed_over) {
        char *text = malloc(CGROUPFS_PATH_BYTES + 64), *end;

        for (size_t n = CGROUPFS_PATH_BYTES - 1; n <= CGROUPFS_PATH_BYTES; n++) {
                end = text + sprintf(text, "31 30 0:26 / ");
                memset(end, '/', n);
                end += n;
                end += sprintf(end, " rw - cgroup2 cgroup2 rw\n");
                ck_assert_int_eq(
                        cgroup_mount_parse((Span){ text, (size_t) (end - text) }, 0, &mount),
                        n < CGROUPFS_PATH_BYTES ? 0 : CGROUPFS_E_NO_MOUNT);
        }
        free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-mount");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, whole_hierarchies_come_first, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_text_has_no_wrong_mounts, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, what_is_no_mount_of_ours_is_passed_over, 0,
                            ELEMENTSOF(broken_rows));
        tcase_add_test(parse, half_an_escape_is_taken_as_it_is);
        tcase_add_test(parse, a_path_that_does_not_fit_is_passed_over);
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
