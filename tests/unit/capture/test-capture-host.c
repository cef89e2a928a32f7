/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "captured.h"

static Tree tree;
static FakeSystem fake;
static Captured captured;

#define INTERFACE " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"

static void setup(void) {
        tree_make(&tree);
        tree_write_text(&tree, "proc/stat",
                        "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
        tree_write_text(&tree, "proc/loadavg", "0.10 0.20 0.30 1/2 3\n");
        tree_write_text(&tree, "proc/vmstat", "oom_kill 4\n");
        tree_write_text(&tree, "proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
        tree_write_text(&tree, "proc/2/stat",
                        "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 24 0 0 "
                        "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 0 1 0 0 0 0 0 0 0 0 "
                        "0 0 0 0 0\n");
        tree_write_text(&tree, "proc/1/net/dev", "  eth0:" INTERFACE);
        tree_write_text(&tree, "proc/1/net/snmp", "Tcp: RetransSegs\nTcp: 5\n");
        tree_write_text(&tree, "proc/1/net/netstat", "TcpExt: ListenDrops\nTcpExt: 6\n");
        tree_link(&tree, "proc/2/net", "../1/net");
        tree_add_thread(&tree, &(TreeThread){ .tgid = 7, .tid = 7 });
        fake_system_init(&fake, &tree);
        captured_init(&captured, &tree, &fake);
}

static void teardown(void) {
        captured_done(&captured);
        tree_remove(&tree);
}

static const char *part_text(HostPartId part) {
        const char *text;

        ck_assert_int_eq(buffer_terminate(&captured.host_parts[part], &text), 0);
        return text;
}

static uint64_t part_time(HostPartId part) {
        static const char key[] = "{\"at_boottime_ns\":";
        const char *text = part_text(part);

        ck_assert_int_eq(strncmp(text, key, sizeof(key) - 1), 0);
        return strtoull(text + sizeof(key) - 1, NULL, 10);
}

START_TEST(every_part_is_in_the_document) {
        static const char *const words[_HOST_PART_MAX] = {
                [HOST_PART_CPU] = "[\"0\",1,2,3,4,5,6,7,8,9,10]",
                [HOST_PART_MEMORY] = "\"counts\":{\"oom_kill\":4}",
                [HOST_PART_DISK] = "[\"sda\",\"disk\",8,0,1,2,3,4,5,6,7,8,9,10,11,",
                [HOST_PART_NETWORK] = "\"counts\":{\"TcpRetransSegs\":5,\"TcpExtListenDrops\":6}",
        };

        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
        for (unsigned part = 0; part < _HOST_PART_MAX; part++) {
                ck_assert_msg(strstr(part_text((HostPartId) part), words[part]) != NULL, "%s",
                              part_text((HostPartId) part));
                ck_assert_int_eq(captured.sources.sources[host_parts[part].source].state,
                                 SOURCE_STATE_OK);
        }
        captured_check_source(&captured, SOURCE_HOST_CPU, SOURCE_STATE_OK, 2, 0, 0, 0, 0);
        captured_check_source(&captured, SOURCE_HOST_NETWORK, SOURCE_STATE_OK, 3, 0, 0, 0, 0);
}
END_TEST

START_TEST(the_cpus_are_read_last_and_within_the_capture) {
        captured_run(&captured);
        ck_assert_uint_ge(part_time(HOST_PART_MEMORY), captured.head.start_boottime_ns);
        for (unsigned part = 0; part < _HOST_PART_MAX; part++)
                ck_assert_uint_le(part_time((HostPartId) part), part_time(HOST_PART_CPU));
        ck_assert_uint_le(part_time(HOST_PART_CPU), captured.head.end_boottime_ns);
}
END_TEST

START_TEST(a_part_of_which_nothing_can_be_read_is_null_with_a_reason) {
        tree_delete(&tree, "proc/diskstats");
        tree_delete(&tree, "proc/2/stat");
        tree_delete(&tree, "proc/vmstat");
        captured_run(&captured);
        ck_assert_uint_eq(captured.host_parts[HOST_PART_DISK].n, 0);
        ck_assert_uint_eq(captured.host_parts[HOST_PART_NETWORK].n, 0);
        ck_assert_ptr_nonnull(strstr(part_text(HOST_PART_MEMORY), "MemTotal"));
        captured_check_source(&captured, SOURCE_HOST_DISK, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 1, 0);
        captured_check_source(&captured, SOURCE_HOST_MEMORY, SOURCE_STATE_PARTIAL, 1, 0, 0, 1, 0);
        captured_check_source(&captured, SOURCE_HOST_NETWORK, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 1,
                              0);
        ck_assert_ptr_nonnull(
                strstr(captured.sources.sources[SOURCE_HOST_DISK].reason, "CONFIG_BLOCK"));
        ck_assert_ptr_nonnull(
                strstr(captured.sources.sources[SOURCE_HOST_NETWORK].reason, "not in a container"));
        ck_assert(!captured.head.complete);
}
END_TEST

START_TEST(more_than_a_document_may_have_is_left_out_and_said) {
        static const char line[] = "8 0 sda 18446744073709551615 18446744073709551615 3 4 5 6 7 8 "
                                   "9 10 11 12 13 14 15 16 17\n";
        enum { N = 16384 };
        Buffer text = {};

        for (unsigned i = 0; i < N; i++)
                ck_assert_int_eq(buffer_append(&text, line, sizeof(line) - 1), 0);
        tree_write(&tree, "proc/diskstats", buffer_span(&text));
        buffer_done(&text);
        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
        ck_assert_uint_eq(captured.host_parts[HOST_PART_DISK].n, 0);
        captured_check_source(&captured, SOURCE_HOST_DISK, SOURCE_STATE_UNAVAILABLE, 0, 0, 0, 0, 1);
        ck_assert_ptr_nonnull(strstr(captured.sources.sources[SOURCE_HOST_DISK].reason,
                                     "more than fits into a snapshot"));
        ck_assert_uint_gt(captured.host_parts[HOST_PART_CPU].n, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-host");
        TCase *parts = tcase_create("parts");

        tcase_add_checked_fixture(parts, setup, teardown);
        tcase_add_test(parts, every_part_is_in_the_document);
        tcase_add_test(parts, the_cpus_are_read_last_and_within_the_capture);
        tcase_add_test(parts, a_part_of_which_nothing_can_be_read_is_null_with_a_reason);
        tcase_add_test(parts, more_than_a_document_may_have_is_left_out_and_said);
        suite_add_tcase(suite, parts);
        return check_main(suite);
}
