/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "base/macro.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "text/fixture.h"

static const struct {
        const char *text, *names;
} rows[] = {
        { "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t70\t1\nmemory\t0\t70\t1\n", "" },
        { "cpuset\t3\t1\t1\ncpu\t1\t1\t1\ncpuacct\t2\t1\t1\nblkio\t7\t1\t1\nmemory\t4\t15\t1\n"
          "devices\t5\t1\t1\npids\t8\t1\t1\n",
          "cpu, cpuacct, cpuset, memory, blkio, pids" },
        { "cpu\t0\t1\t1\nfreezer\t6\t1\t1\nmemory\t4\t15\t1\n", "memory" },
        { "memory\t4\t15\t1\nmemory\t4\t15\t1\n", "memory" },
        { "memory\t-4\t15\t1\npids\tx\t1\t1\nblkio\n\n\t\n", "" },
        { "memory\t4", "" },
        { "", "" },
};

START_TEST(controllers_of_version_1_are_named) {
        char names[CGROUP_V1_TEXT_BYTES], path[] = "/tmp/cgroup-v1-XXXXXX";
        int fd, file;

        ck_assert_ptr_nonnull(mkdtemp(path));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        file = openat(fd, "cgroups", O_WRONLY | O_CREAT, 0600);
        ck_assert_int_eq(write(file, rows[_i].text, strlen(rows[_i].text)),
                         (ssize_t) strlen(rows[_i].text));
        cgroup_v1_read(fd, names);
        ck_assert_str_eq(names, rows[_i].names);
        (void) close(file);
        (void) unlinkat(fd, "cgroups", 0);
        (void) close(fd);
        (void) rmdir(path);
}
END_TEST

START_TEST(without_the_file_there_are_none) {
        char names[CGROUP_V1_TEXT_BYTES];
        int fd = fixture_open("proc/6.12-schedstats");

        cgroup_v1_read(fd, names);
        ck_assert_str_eq(names, "");
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("cgroup-v1");
        TCase *names = tcase_create("names");

        tcase_add_loop_test(names, controllers_of_version_1_are_named, 0, ELEMENTSOF(rows));
        tcase_add_test(names, without_the_file_there_are_none);
        suite_add_tcase(suite, names);
        return check_main(suite);
}
