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

static const char *read_from(int fd) {
        host_tree_begin(&tree);
        host_memory_read(fd, &tree.text, &tree.writer, tree.counts);
        return host_tree_end(&tree);
}

START_TEST(a_real_kernel_is_read_whole) {
        static const char *const wanted[] = {
                "\"MemAvailable\":",     "\"SwapTotal\":0",
                "\"HugePages_Total\":0", "\"oom_kill\":0",
                "\"pgmajfault\":",       "\"pgscan_direct\":",
                "\"compact_stall\":",    "\"workingset_refault_file\":"
        };
        static const char *const unwanted[] = { "nr_free_pages", "nr_dirty\"", "workingset_nodes",
                                                "direct_map", "unevictable_pgs" };
        int fd = fixture_open("proc/6.18-host");
        const char *json = read_from(fd);

        host_tree_check(&tree, 2, 0, 0, 0);
        for (size_t i = 0; i < ELEMENTSOF(wanted); i++)
                ck_assert_msg(strstr(json, wanted[i]) != NULL, "%s", wanted[i]);
        for (size_t i = 0; i < ELEMENTSOF(unwanted); i++)
                ck_assert_msg(strstr(json, unwanted[i]) == NULL, "%s", unwanted[i]);
        (void) close(fd);
}
END_TEST

START_TEST(units_and_kinds_are_told_apart) {
        host_tree_put(&tree, "meminfo",
                      "MemTotal:       24684096 kB\nHugePages_Total:       3\n"
                      "Active(anon):       1524 kB\n");
        host_tree_put(&tree, "vmstat", "nr_free_pages 5\noom_kill 2\npswpin 7\n");
        ck_assert_str_eq(read_from(tree.fd),
                         "{\"levels_kib\":{\"Active(anon)\":1524,\"MemTotal\":24684096},"
                         "\"levels\":{\"HugePages_Total\":3},"
                         "\"counts\":{\"oom_kill\":2,\"pswpin\":7}}");
        host_tree_check(&tree, 2, 0, 0, 0);
}
END_TEST

static const struct {
        const char *meminfo, *vmstat;
        unsigned n_ok, n_malformed;
} wrong_rows[] = {
        { "A: 1 kB\nB: x kB\n", "oom_kill 1\n", 2, 1 },
        { "A: 1 kB\nB:\n", "oom_kill 1\n", 2, 1 },
        { "A: 1 kB\nB: 1 MB\n", "oom_kill 1\n", 2, 1 },
        { "A: 1 kB\nB: 18446744073709551616 kB\n", "oom_kill 1\n", 2, 1 },
        { "A: 1 kB\nB: 1 k", "oom_kill 1\n", 2, 1 },
        { "A: 1 kB\n", "oom_kill 1\noom_kill 2\n", 2, 1 },
        { "A: 1 kB\n", "oom_kill 1\npswpin\n", 2, 1 },
        { "A: 1 kB\n", "oom_kill 1\npswpin 1", 2, 1 },
        { "A: 1 kB\n", "", 1, 1 },
        { "", "oom_kill 1\n", 1, 1 },
        { "A: 1 kB\n", "nr_free_pages 1\n", 1, 1 },
};

START_TEST(what_is_wrong_is_left_out_and_counted) {
        host_tree_put(&tree, "meminfo", wrong_rows[_i].meminfo);
        host_tree_put(&tree, "vmstat", wrong_rows[_i].vmstat);
        ck_assert_ptr_null(strstr(read_from(tree.fd), "\"B\""));
        ck_assert_ptr_null(strstr(tree.json.bytes, "pswpin"));
        host_tree_check(&tree, wrong_rows[_i].n_ok, 0, 0, wrong_rows[_i].n_malformed);
}
END_TEST

START_TEST(more_keys_than_there_is_room_for_are_malformed) {
        char text[NUMBER_MAP_MAX * 16 + 64];
        size_t n = 0;

        for (unsigned i = 0; i < NUMBER_MAP_MAX + 1; i++)
                n += (size_t) snprintf(text + n, sizeof(text) - n, "pg%u 1\n", i);
        host_tree_put(&tree, "meminfo", "A: 1 kB\n");
        host_tree_put(&tree, "vmstat", text);
        (void) read_from(tree.fd);
        host_tree_check(&tree, 2, 0, 0, 1);
}
END_TEST

START_TEST(files_that_are_not_there_are_counted) {
        ck_assert_str_eq(read_from(tree.fd), "{\"levels_kib\":{},\"levels\":{},\"counts\":{}}");
        host_tree_check(&tree, 0, 0, 2, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-memory");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, setup, teardown);
        tcase_add_test(read, a_real_kernel_is_read_whole);
        tcase_add_test(read, units_and_kinds_are_told_apart);
        tcase_add_loop_test(read, what_is_wrong_is_left_out_and_counted, 0, ELEMENTSOF(wrong_rows));
        tcase_add_test(read, more_keys_than_there_is_room_for_are_malformed);
        tcase_add_test(read, files_that_are_not_there_are_counted);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
