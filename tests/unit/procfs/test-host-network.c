/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/host-files.h"
#include "procfs/host-tree.h"
#include "text/fixture.h"

static HostTree tree;
static HostNetworkLack lack;

#define KTHREADD                                                             \
        "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 24 0 0 " \
        "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
#define HEADING                                                      \
        "Inter-|   Receive                            |  Transmit\n" \
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
#define NUMBERS " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"

static void setup(void) {
        host_tree_make(&tree);
        host_tree_put(&tree, "2/stat", KTHREADD);
        host_tree_put(&tree, "1/net/dev", HEADING "    lo:" NUMBERS "  eth0:" NUMBERS);
        host_tree_put(&tree, "1/net/snmp",
                      "Ip: Forwarding DefaultTTL\nIp: 2 64\n"
                      "Tcp: RtoAlgorithm MaxConn ActiveOpens CurrEstab RetransSegs\n"
                      "Tcp: 1 -1 5 6 7\nUdp: InDatagrams RcvbufErrors\nUdp: 8 9\n");
        host_tree_put(&tree, "1/net/netstat",
                      "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 3\n");
        ck_assert_int_eq(symlinkat("../1/net", tree.fd, "2/net"), 0);
}

static void teardown(void) {
        host_tree_remove(&tree);
}

static const char *read_from(int fd, int sys_fd) {
        host_tree_begin(&tree);
        lack = host_network_read(fd, sys_fd, &tree.text, &tree.writer, tree.counts);
        return host_tree_end(&tree);
}

START_TEST(a_real_kernel_is_read_whole) {
        int fd = fixture_open("proc/6.18-host");
        const char *json = read_from(fd, -EBADF);

        ck_assert_int_eq(lack, HOST_NETWORK_THERE);
        host_tree_check(&tree, 3, 0, 0, 0);
        ck_assert_ptr_nonnull(strstr(json, "[\"lo\",\"loopback\","));
        ck_assert_ptr_nonnull(strstr(json, "[\"eth0\",null,"));
        ck_assert_ptr_nonnull(strstr(json, "\"TcpRetransSegs\":"));
        ck_assert_ptr_nonnull(strstr(json, "\"TcpExtListenOverflows\":0"));
        ck_assert_ptr_nonnull(strstr(json, "\"levels\":{\"TcpCurrEstab\":"));
        (void) close(fd);
}
END_TEST

START_TEST(every_number_has_its_place) {
        ck_assert_str_eq(
                read_from(tree.fd, -EBADF),
                "{\"counts\":{\"TcpActiveOpens\":5,\"TcpRetransSegs\":7,\"UdpInDatagrams\":8,"
                "\"UdpRcvbufErrors\":9,\"TcpExtListenOverflows\":2,\"TcpExtListenDrops\":3,"
                "\"TcpExtSyncookiesSent\":1},\"levels\":{\"TcpCurrEstab\":6},"
                "\"columns\":[\"interface\",\"kind\",\"rx_bytes\",\"rx_packets\",\"rx_errors\","
                "\"rx_dropped\",\"rx_fifo\",\"rx_frame\",\"rx_compressed\",\"rx_multicast\","
                "\"tx_bytes\",\"tx_packets\",\"tx_errors\",\"tx_dropped\",\"tx_fifo\","
                "\"tx_collisions\",\"tx_carrier\",\"tx_compressed\"],\"rows\":["
                "[\"lo\",\"loopback\",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"
                "[\"eth0\",null,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]]}");
        host_tree_check(&tree, 3, 0, 0, 0);
}
END_TEST

START_TEST(without_a_kernel_thread_nobody_knows_whose_network_it_is) {
        host_tree_put(&tree, "2/stat",
                      "2 (bash) S 1 2 2 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 24 0 0 1\n");
        ck_assert_str_eq(read_from(tree.fd, -EBADF), "{}");
        ck_assert_int_eq(lack, HOST_NETWORK_FOREIGN_PIDS);
        host_tree_check(&tree, 0, 0, 1, 0);
        ck_assert_int_eq(unlinkat(tree.fd, "2/stat", 0), 0);
        ck_assert_str_eq(read_from(tree.fd, -EBADF), "{}");
        ck_assert_int_eq(lack, HOST_NETWORK_FOREIGN_PIDS);
}
END_TEST

START_TEST(another_namespace_of_process_1_is_not_the_hosts) {
        ck_assert_int_eq(unlinkat(tree.fd, "2/net", 0), 0);
        host_tree_put(&tree, "2/net/dev", HEADING "  eth0:" NUMBERS);
        ck_assert_str_eq(read_from(tree.fd, -EBADF), "{}");
        ck_assert_int_eq(lack, HOST_NETWORK_OTHER_NAMESPACE);
        host_tree_check(&tree, 0, 0, 1, 0);
}
END_TEST

START_TEST(a_kernel_without_a_network_says_so) {
        ck_assert_int_eq(unlinkat(tree.fd, "1/net/dev", 0), 0);
        ck_assert_str_eq(read_from(tree.fd, -EBADF), "{}");
        ck_assert_int_eq(lack, HOST_NETWORK_NO_FILES);
        host_tree_check(&tree, 0, 0, 1, 0);
}
END_TEST

/* Root may look into everything: without the right to become another user this proves nothing. */
static bool be_nobody(void) {
        return geteuid() == 0 && fchmod(tree.fd, 0755) == 0 && seteuid(65534) == 0;
}

static void deny_first(void) {
        ck_assert_int_eq(fchmodat(tree.fd, "1/net", 0, 0), 0);
        ck_assert_int_eq(fchmodat(tree.fd, "1", 0755, 0), 0);
        ck_assert_int_eq(fchmodat(tree.fd, "2", 0755, 0), 0);
        ck_assert_int_eq(fchmodat(tree.fd, "2/stat", 0644, 0), 0);
}

START_TEST(a_refused_directory_is_denied_unless_we_share_the_initial_namespace) {
        static const struct {
                const char *link;
                HostNetworkLack lack;
        } rows[] = {
                { "net:[4026532183]", HOST_NETWORK_DENIED },
                { "net:[4026531833]", HOST_NETWORK_THERE },
        };

        host_tree_put(&tree, "self/ns/ipc", "");
        host_tree_put(&tree, "self/net/dev", HEADING "  eth1:" NUMBERS);
        ck_assert_int_eq(fchmodat(tree.fd, "self", 0755, 0), 0);
        ck_assert_int_eq(fchmodat(tree.fd, "self/ns", 0755, 0), 0);
        ck_assert_int_eq(fchmodat(tree.fd, "self/net", 0755, 0), 0);
        ck_assert_int_eq(fchmodat(tree.fd, "self/net/dev", 0644, 0), 0);
        ck_assert_int_eq(symlinkat(rows[_i].link, tree.fd, "self/ns/net"), 0);
        deny_first();
        if (be_nobody()) {
                const char *json = read_from(tree.fd, -EBADF);

                ck_assert_int_eq(seteuid(0), 0);
                ck_assert_int_eq(lack, rows[_i].lack);
                if (lack == HOST_NETWORK_DENIED) {
                        ck_assert_str_eq(json, "{}");
                        host_tree_check(&tree, 0, 1, 0, 0);
                } else {
                        ck_assert_ptr_nonnull(strstr(json, "eth1"));
                        host_tree_check(&tree, 1, 0, 2, 0);
                }
        }
        ck_assert_int_eq(fchmodat(tree.fd, "1/net", 0700, 0), 0);
}
END_TEST

START_TEST(what_an_interface_is_follows_from_sys) {
        static const char *const rows[] = {
                "[\"lo\",\"loopback\"", "[\"eth0\",\"device\"", "[\"br0\",\"virtual\"",
                "[\"eth1\",\"device\"", "[\"vf0\",\"lower\"",   "[\"gone\",null",
        };
        int sys_fd;

        host_tree_put(&tree, "1/net/dev",
                      HEADING "lo:" NUMBERS "eth0:" NUMBERS "br0:" NUMBERS "eth1:" NUMBERS
                              "vf0:" NUMBERS "gone:" NUMBERS);
        ck_assert_int_eq(symlinkat("1", tree.fd, "self"), 0);
        host_tree_put(&tree, "sys/class/net/eth0/device", "");
        host_tree_put(&tree, "sys/class/net/br0/type", "");
        host_tree_put(&tree, "sys/class/net/eth1/device", "");
        host_tree_put(&tree, "sys/class/net/vf0/device", "");
        /* A port of a bridge keeps its bytes; a virtual function behind eth0 counts there, too. */
        ck_assert_int_eq(symlinkat("../br0", tree.fd, "sys/class/net/eth1/master"), 0);
        ck_assert_int_eq(symlinkat("../eth0", tree.fd, "sys/class/net/vf0/master"), 0);
        sys_fd = openat(tree.fd, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(sys_fd, 0);
        (void) read_from(tree.fd, sys_fd);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                ck_assert_msg(strstr(tree.json.bytes, rows[i]) != NULL, "%s", rows[i]);
        (void) close(sys_fd);
}
END_TEST

START_TEST(the_sys_of_another_namespace_is_not_asked) {
        int sys_fd;

        host_tree_put(&tree, "self/net/dev", HEADING);
        host_tree_put(&tree, "sys/class/net/eth0/type", "");
        host_tree_put(&tree, "1/root/sys/class/net/eth0/device", "");
        sys_fd = openat(tree.fd, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_ptr_nonnull(strstr(read_from(tree.fd, sys_fd), "[\"eth0\",\"device\""));
        (void) close(sys_fd);
}
END_TEST

static const char *const wrong_interfaces[] = {
        "bad: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "bad: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x\n",
        "bad: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551616\n",
        "bad:\n",
        (":" NUMBERS),
        "bad: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
};

START_TEST(an_interface_that_is_wrong_is_left_out_and_counted) {
        char text[512];

        (void) snprintf(text, sizeof(text), HEADING "eth0:" NUMBERS "%s", wrong_interfaces[_i]);
        host_tree_put(&tree, "1/net/dev", text);
        ck_assert_ptr_null(strstr(read_from(tree.fd, -EBADF), "bad"));
        ck_assert_ptr_nonnull(strstr(tree.json.bytes, "eth0"));
        host_tree_check(&tree, 3, 0, 0, 1);
}
END_TEST

static const char *const wrong_pairs[] = {
        "Tcp: A B\nTcp: 1\n",
        "Tcp: A\nTcp: 1 2\n",
        "Tcp: A\n",
        "Tcp: A\nUdp: 1\n",
        "Tcp: A\nTcp: 1",
        "Tcp: RetransSegs\nTcp: x\n",
        "Tcp: RetransSegs RetransSegs\nTcp: 1 2\n",
        "Tcp: RetransSegs\nTcp: 1\nTcp: RetransSegs\nTcp: 1\n",
        "Tcp: RetransSegs\nTcp: -1\n",
};

START_TEST(pairs_that_are_wrong_are_counted) {
        static const Span keys[] = { SPAN_LITERAL("TcpRetransSegs") };
        uint64_t value;
        Fields fields = { .keys = keys, .n_keys = 1, .values = &value };

        ck_assert(!network_pairs_parse(span_of(wrong_pairs[_i]), &fields));
        ck_assert_uint_eq(fields.present, 0);
        host_tree_put(&tree, "1/net/snmp", wrong_pairs[_i]);
        ck_assert_ptr_null(strstr(read_from(tree.fd, -EBADF), "TcpRetransSegs"));
        host_tree_check(&tree, 3, 0, 0, 1);
}
END_TEST

START_TEST(a_name_of_any_length_is_taken_apart) {
        static const Span keys[] = { SPAN_LITERAL("TcpRetransSegs") };
        char text[4096] = "Tcp: ";
        uint64_t value;
        Fields fields = { .keys = keys, .n_keys = 1, .values = &value };

        memset(text + 5, 'x', 2000);
        memcpy(text + 2005, "\nTcp: 1\n", 9);
        ck_assert(!network_pairs_parse(span_of(text), &fields));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-network");
        TCase *read = tcase_create("read");

        tcase_add_checked_fixture(read, setup, teardown);
        tcase_add_test(read, a_real_kernel_is_read_whole);
        tcase_add_test(read, every_number_has_its_place);
        tcase_add_test(read, without_a_kernel_thread_nobody_knows_whose_network_it_is);
        tcase_add_test(read, another_namespace_of_process_1_is_not_the_hosts);
        tcase_add_test(read, a_kernel_without_a_network_says_so);
        tcase_add_loop_test(
                read, a_refused_directory_is_denied_unless_we_share_the_initial_namespace, 0, 2);
        tcase_add_test(read, what_an_interface_is_follows_from_sys);
        tcase_add_test(read, the_sys_of_another_namespace_is_not_asked);
        tcase_add_loop_test(read, an_interface_that_is_wrong_is_left_out_and_counted, 0,
                            ELEMENTSOF(wrong_interfaces));
        tcase_add_loop_test(read, pairs_that_are_wrong_are_counted, 0, ELEMENTSOF(wrong_pairs));
        tcase_add_test(read, a_name_of_any_length_is_taken_apart);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
