/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/host-files.h"
#include "procfs/host-tree.h"
#include "text/fixture.h"

static HostTree tree;

static void setup(void) {
        host_tree_make(&tree);
}

static void teardown(void) {
        host_tree_remove(&tree);
}

static const char *read_from(int fd, int sys_fd) {
        host_tree_begin(&tree);
        host_disk_read(fd, sys_fd, &tree.text, &tree.writer, tree.counts);
        return host_tree_end(&tree);
}

START_TEST(a_real_kernel_is_read_whole) {
        int fd = fixture_open("proc/6.18-host");
        const char *json = read_from(fd, -EBADF);

        host_tree_check(&tree, 1, 0, 0, 0);
        ck_assert_ptr_nonnull(strstr(json, "[\"loop0\",\"loop\",7,0,"));
        ck_assert_ptr_nonnull(strstr(json, "[\"vda\",\"disk\",254,0,"));
        ck_assert_ptr_nonnull(strstr(json, "[\"zram0\",\"memory\",253,0,"));
        (void) close(fd);
}
END_TEST

START_TEST(every_number_has_its_place_and_later_ones_are_skipped) {
        host_tree_put(&tree, "diskstats",
                      "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"
                      "   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11\n"
                      "   8      16 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
        ck_assert_str_eq(
                read_from(tree.fd, -EBADF),
                "{\"columns\":[\"disk\",\"kind\",\"major\",\"minor\",\"reads\",\"reads_merged\","
                "\"read_sectors\",\"read_ms\",\"writes\",\"writes_merged\",\"written_sectors\","
                "\"write_ms\",\"in_flight\",\"busy_ms\",\"request_ms\",\"discards\","
                "\"discards_merged\",\"discarded_sectors\",\"discard_ms\",\"flushes\","
                "\"flush_ms\"],\"rows\":["
                "[\"sda\",\"disk\",8,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"
                "[\"sda1\",\"partition\",8,1,1,2,3,4,5,6,7,8,9,10,11,null,null,null,null,null,"
                "null],"
                "[\"sdb\",\"disk\",8,16,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,null,null]]}");
        host_tree_check(&tree, 1, 0, 0, 0);
}
END_TEST

static const struct {
        const char *name, *disk;
        bool is_partition;
} partition_rows[] = {
        { "sda1", "sda", true },          { "sda12", "sda", true },
        { "sda", "sda", false },          { "sdaa", "sda", false },
        { "sdaa1", "sda", false },        { "sda1x", "sda", false },
        { "nvme0n1p1", "nvme0n1", true }, { "nvme0n11", "nvme0n1", false },
        { "nvme0n1p", "nvme0n1", false }, { "loop10", "loop1", false },
        { "dm-10", "dm-1", false },       { "md0p2", "md0", true },
        { "xvda1", "", false },           { "cciss/c0d0p3", "cciss/c0d0", true },
};

#define ZEROS " 0 0 0 0 0 0 0 0 0 0 0\n"

START_TEST(a_partition_is_known_by_the_disk_before_it) {
        const char *name = partition_rows[_i].name, *disk = partition_rows[_i].disk;
        char text[256], row[64];

        (void) snprintf(text, sizeof(text), "%s%s%s1 1 %s" ZEROS, *disk ? "1 0 " : "", disk,
                        *disk ? ZEROS : "", name);
        host_tree_put(&tree, "diskstats", text);
        (void) snprintf(row, sizeof(row), "[\"%s\",\"partition\"", name);
        ck_assert_int_eq(strstr(read_from(tree.fd, -EBADF), row) != NULL,
                         partition_rows[_i].is_partition);
}
END_TEST

static const char many_disks[] =
        "259 0 nvme0c0n1" ZEROS "259 1 nvme0c1n1" ZEROS "259 2 nvme0n1" ZEROS
        "259 3 nvme0n1p1" ZEROS "259 4 nvme0n11" ZEROS "259 5 nvme1n1" ZEROS;

static const struct {
        const char *name;
        HostKind kind;
} kind_rows[] = {
        { "sda", HOST_KIND_DISK },        { "vda", HOST_KIND_DISK },
        { "nvme0c0n1", HOST_KIND_DISK },  { "nvme0n1", HOST_KIND_STACKED },
        { "nvme0n11", HOST_KIND_DISK },   { "nvme1n1", HOST_KIND_DISK },
        { "dm-0", HOST_KIND_STACKED },    { "md127", HOST_KIND_STACKED },
        { "md_home", HOST_KIND_STACKED }, { "loop3", HOST_KIND_LOOP },
        { "ram0", HOST_KIND_MEMORY },     { "zram1", HOST_KIND_MEMORY },
        { "bcache0", HOST_KIND_STACKED }, { "zd16", HOST_KIND_STACKED },
        { "rbd0", HOST_KIND_DISK },       { "nbd0", HOST_KIND_DISK },
        { "mmcblk0", HOST_KIND_DISK },    { "ramdisk", HOST_KIND_DISK },
        { "nvme", HOST_KIND_DISK },       { "nvme0", HOST_KIND_DISK },
};

START_TEST(a_kind_follows_from_the_names) {
        ck_assert_int_eq(disk_find_kind(span_of(kind_rows[_i].name), span_of(many_disks), -EBADF),
                         kind_rows[_i].kind);
}
END_TEST

START_TEST(a_disk_over_others_is_known_by_them) {
        int sys_fd;

        host_tree_put(&tree, "diskstats", "1 0 flash" ZEROS "1 1 plain" ZEROS "1 2 fancy/d0" ZEROS);
        host_tree_put(&tree, "sys/class/block/flash/slaves/sda", "");
        host_tree_put(&tree, "sys/class/block/fancy!d0/slaves/sdb", "");
        ck_assert_int_eq(mkdirat(tree.fd, "sys/class/block/plain", 0700), 0);
        ck_assert_int_eq(mkdirat(tree.fd, "sys/class/block/plain/slaves", 0700), 0);
        sys_fd = openat(tree.fd, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(sys_fd, 0);
        ck_assert_ptr_nonnull(strstr(read_from(tree.fd, sys_fd), "[\"flash\",\"stacked\""));
        ck_assert_ptr_nonnull(strstr(tree.json.bytes, "[\"plain\",\"disk\""));
        ck_assert_ptr_nonnull(strstr(tree.json.bytes, "[\"fancy/d0\",\"stacked\""));
        (void) close(sys_fd);
}
END_TEST

static const char *const wrong_lines[] = {
        "8 0 bad 1 2 3 4 5 6 7 8 9 10\n",
        "8 0 bad 1 2 3 4 5 6 7 8 9 10 x\n",
        "8 0 bad 1 2 3 4 5 6 7 8 9 10 -1\n",
        "8 0 bad 18446744073709551616 2 3 4 5 6 7 8 9 10 11\n",
        "x 0 bad" ZEROS,
        "8 4294967296 bad" ZEROS,
        "8 0\n",
        "\n",
        "8 0 bad 0 0 0 0 0 0 0 0 0 0 0",
};

START_TEST(a_line_that_is_wrong_is_left_out_and_counted) {
        char text[256];

        (void) snprintf(text, sizeof(text), "8 16 sdb" ZEROS "%s", wrong_lines[_i]);
        host_tree_put(&tree, "diskstats", text);
        ck_assert_ptr_null(strstr(read_from(tree.fd, -EBADF), "bad"));
        ck_assert_ptr_nonnull(strstr(tree.json.bytes, "sdb"));
        host_tree_check(&tree, 1, 0, 0, 1);
}
END_TEST

START_TEST(a_host_without_disks_is_read) {
        host_tree_put(&tree, "diskstats", "");
        ck_assert_ptr_nonnull(strstr(read_from(tree.fd, -EBADF), "\"rows\":[]}"));
        host_tree_check(&tree, 1, 0, 0, 0);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_counted) {
        ck_assert_ptr_nonnull(strstr(read_from(tree.fd, -EBADF), "\"rows\":[]}"));
        host_tree_check(&tree, 0, 0, 1, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-disk");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, setup, teardown);
        tcase_add_test(read, a_real_kernel_is_read_whole);
        tcase_add_test(read, every_number_has_its_place_and_later_ones_are_skipped);
        tcase_add_loop_test(read, a_partition_is_known_by_the_disk_before_it, 0,
                            ELEMENTSOF(partition_rows));
        tcase_add_loop_test(read, a_kind_follows_from_the_names, 0, ELEMENTSOF(kind_rows));
        tcase_add_test(read, a_disk_over_others_is_known_by_them);
        tcase_add_loop_test(read, a_line_that_is_wrong_is_left_out_and_counted, 0,
                            ELEMENTSOF(wrong_lines));
        tcase_add_test(read, a_host_without_disks_is_read);
        tcase_add_test(read, a_file_that_is_not_there_is_counted);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
