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
        host_cpu_read(fd, &tree.text, &tree.writer, tree.counts);
        return host_tree_end(&tree);
}

#define COLUMNS                                                                                  \
        "\"columns\":[\"cpu\",\"user_clock_ticks\",\"nice_clock_ticks\",\"system_clock_ticks\"," \
        "\"idle_clock_ticks\",\"iowait_clock_ticks\",\"irq_clock_ticks\","                       \
        "\"softirq_clock_ticks\",\"steal_clock_ticks\",\"guest_clock_ticks\","                   \
        "\"guest_nice_clock_ticks\"],\"rows\":"

START_TEST(a_real_kernel_is_read_whole) {
        int fd = fixture_open("proc/6.18-host");
        const char *json = read_from(fd);

        host_tree_check(&tree, 2, 0, 0, 0);
        ck_assert_ptr_nonnull(strstr(json, COLUMNS "[[\"all\","));
        ck_assert_ptr_nonnull(strstr(json, "],[\"0\","));
        ck_assert_ptr_nonnull(strstr(json, "],[\"1\","));
        ck_assert_ptr_nonnull(strstr(json, "\"levels_hundredths\":{\"load1\":"));
        (void) close(fd);
}
END_TEST

START_TEST(every_number_has_its_place) {
        host_tree_put(&tree, "stat",
                      "cpu  1 2 3 4 5 6 7 8 9 10\n"
                      "cpu0 1 2 3 4 5 6 7 8 9 10\n"
                      "cpu7 11 12 13 14 15 16 17 18 19 20 21\n"
                      "intr 100 1 2 3\nctxt 200\nbtime 5\nprocesses 300\nprocs_running 4\n"
                      "procs_blocked 5\nsoftirq 400 1 2\n");
        host_tree_put(&tree, "loadavg", "0.07 1.20 18446744.00 2/345 99\n");
        ck_assert_str_eq(read_from(tree.fd),
                         "{\"counts\":{\"ctxt\":200,\"intr\":100,\"softirqs\":400,"
                         "\"processes\":300},\"levels\":{\"procs_running\":4,\"procs_blocked\":5,"
                         "\"threads\":345},\"levels_hundredths\":{\"load1\":7,\"load5\":120,"
                         "\"load15\":1844674400}," COLUMNS "[[\"all\",1,2,3,4,5,6,7,8,9,10],"
                         "[\"0\",1,2,3,4,5,6,7,8,9,10],"
                         "[\"7\",11,12,13,14,15,16,17,18,19,20]]}");
        host_tree_check(&tree, 2, 0, 0, 0);
}
END_TEST

START_TEST(columns_that_an_old_kernel_lacks_are_absent) {
        host_tree_put(&tree, "stat", "cpu 1 2 3 4 5\ncpu0 1 2 3 4\n");
        host_tree_put(&tree, "loadavg", "0.00 0.00 0.00 1/1 1\n");
        ck_assert_ptr_nonnull(strstr(read_from(tree.fd),
                                     "[[\"all\",1,2,3,4,5,null,null,null,null,null],"
                                     "[\"0\",1,2,3,4,null,null,null,null,null,null]]"));
        host_tree_check(&tree, 2, 0, 0, 0);
}
END_TEST

/* Lines that are wrong, and the rows that are left beside the first one. */
static const struct {
        const char *lines;
        const char *rows;
} wrong_rows[] = {
        { "cpu0 1 2 3\n", "" },
        { "cpu0 1 2 -3 4\n", "" },
        { "cpu0 1 2 3 x\n", "" },
        { "cpu0 1 2 3 18446744073709551616\ncpu1 1 2 3 4\n",
          ",[\"1\",1,2,3,4,null,null,null,null,null,null]" },
        { "cpux 1 2 3 4\n", "" },
        { "cpu4294967296 1 2 3 4\n", "" },
        { "cpu1 1 2 3 4\ncpu1 5 6 7 8\n", ",[\"1\",1,2,3,4,null,null,null,null,null,null]" },
        { "cpu1 1 2 3 4\ncpu0 5 6 7 8\n", ",[\"1\",1,2,3,4,null,null,null,null,null,null]" },
        { "cpu 9 9 9 9\n", "" },
        { "cpu0 1 2 3 4\nctxt", ",[\"0\",1,2,3,4,null,null,null,null,null,null]" },
        { "ctxt 1\nctxt 2\n", "" },
        { "ctxt\n", "" },
};

START_TEST(a_line_that_is_wrong_is_left_out_and_counted) {
        char text[512];

        (void) snprintf(text, sizeof(text), "cpu 1 2 3 4 5 6 7 8 9 10\n%s", wrong_rows[_i].lines);
        host_tree_put(&tree, "stat", text);
        host_tree_put(&tree, "loadavg", "0.00 0.00 0.00 1/1 1\n");
        (void) snprintf(text, sizeof(text), "\"rows\":[[\"all\",1,2,3,4,5,6,7,8,9,10]%s]}",
                        wrong_rows[_i].rows);
        ck_assert_msg(strstr(read_from(tree.fd), text) != NULL, "%s", tree.json.bytes);
        ck_assert_ptr_null(strstr(tree.json.bytes, "ctxt"));
        host_tree_check(&tree, 2, 0, 0, 1);
}
END_TEST

START_TEST(every_prefix_of_a_real_file_is_read_without_a_false_number) {
        Span text = fixture_read("proc/6.18-host/stat");

        for (size_t n = 0; n < text.n; n += n < 400 ? 1 : 17) {
                char *part = strndup(text.bytes, n);

                host_tree_put(&tree, "stat", part);
                (void) read_from(tree.fd);
                ck_assert_uint_eq(tree.counts[SOURCE_OUTCOME_malformed],
                                  n == 0 || text.bytes[n - 1] != '\n');
                free(part);
        }
        fixture_free(text);
}
END_TEST

START_TEST(a_stat_without_cpus_is_malformed) {
        host_tree_put(&tree, "stat", "ctxt 1\n");
        host_tree_put(&tree, "loadavg", "0.00 0.00 0.00 1/1 1\n");
        (void) read_from(tree.fd);
        host_tree_check(&tree, 2, 0, 0, 1);
        host_tree_put(&tree, "stat", "");
        (void) read_from(tree.fd);
        host_tree_check(&tree, 1, 0, 0, 1);
}
END_TEST

static const char *const wrong_loads[] = {
        "",
        "1 2 3 1/2 3",
        "1.0 2.0 3.0\n",
        "1.0 2.0 3.0 4\n",
        "1.0 2.0 3.0 1/\n",
        "1.0 2.0 3.0 /2\n",
        "1.0 -2.0 3.0 1/2 3\n",
        "1.0 2.0 x 1/2 3\n",
        "1.0 2.0 3.0 1/18446744073709551616 3\n",
        "184467440737095516160.0 1 1 1/2 3\n",
};

START_TEST(a_load_that_is_wrong_is_absent) {
        host_tree_put(&tree, "stat", "cpu 1 2 3 4\n");
        host_tree_put(&tree, "loadavg", wrong_loads[_i]);
        ck_assert_ptr_null(strstr(read_from(tree.fd), "load1"));
        ck_assert_ptr_null(strstr(tree.json.bytes, "threads"));
        host_tree_check(&tree, 1, 0, 0, 1);
}
END_TEST

START_TEST(files_that_are_not_there_are_counted) {
        ck_assert_str_eq(read_from(tree.fd), "{\"counts\":{},\"levels\":{}," COLUMNS "[]}");
        host_tree_check(&tree, 0, 0, 2, 0);
}
END_TEST

START_TEST(a_line_is_of_a_cpu_or_not) {
        host_tree_put(&tree, "loadavg", "0.00 0.00 0.00 1/1 1\n");
        host_tree_put(&tree, "stat", "cpu 1 2 3 4\n\ncpufreq\ncpu\nctxt 1\ncpu12 1 2 3 4\n");
        ck_assert_ptr_nonnull(strstr(read_from(tree.fd), "],[\"12\",1,2,3,4,null,"));
        ck_assert_ptr_null(strstr(tree.json.bytes, "\"ctxt\","));
        host_tree_check(&tree, 2, 0, 0, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-cpu");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, setup, teardown);
        tcase_add_test(read, a_real_kernel_is_read_whole);
        tcase_add_test(read, every_number_has_its_place);
        tcase_add_test(read, columns_that_an_old_kernel_lacks_are_absent);
        tcase_add_loop_test(read, a_line_that_is_wrong_is_left_out_and_counted, 0,
                            ELEMENTSOF(wrong_rows));
        tcase_add_test(read, every_prefix_of_a_real_file_is_read_without_a_false_number);
        tcase_add_test(read, a_stat_without_cpus_is_malformed);
        tcase_add_loop_test(read, a_load_that_is_wrong_is_absent, 0, ELEMENTSOF(wrong_loads));
        tcase_add_test(read, files_that_are_not_there_are_counted);
        tcase_add_test(read, a_line_is_of_a_cpu_or_not);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
