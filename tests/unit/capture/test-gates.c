/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"
#include "cgroup-tree.h"

#include <errno.h>
#include <stdio.h>

#include "base/macro.h"
#include "capture/batch/gates.h"
#include "captured.h"

static Tree tree;
static FakeSystem fake;
static HostContext host;
static Gates gates;

static void setup(void) {
        tree_make(&tree);
        fake_system_init(&fake, &tree);
        host = (HostContext){ .kernel_release = "6.18.44-amd64" };
}

static void teardown(void) {
        tree_remove(&tree);
}

static void look(void) {
        gates_read(tree.proc_fd, &fake.system, &host, NULL, &gates);
}

static const struct {
        const char *release;
        bool broken;
} release_rows[] = {
        { "5.15.99", false }, { "5.16", true },     { "6.18.44-amd64", true },
        { "7.0.12+x", true }, { "7.1.0", false },   { "10.0.1", false },
        { "", false },        { "6", false },       { "x.y", false },
        { "6.x", false },     { "99999.1", false }, { "6.-1", false },
};

START_TEST(a_kernel_is_known_by_its_release) {
        snprintf(host.kernel_release, sizeof(host.kernel_release), "%s", release_rows[_i].release);
        look();
        ck_assert_int_eq(gates.realtime_waits_broken, release_rows[_i].broken);
}
END_TEST

static const struct {
        bool has_sysctl;
        uint64_t sysctl;
        bool booted;
        const char *release, *cmdline;
        DelayTrust trust;
} trust_rows[] = {
        { true, 1, true, "6.18.0", "", DELAY_TRUST_ALWAYS },
        { true, 1, false, "6.18.0", "", DELAY_TRUST_YOUNG },
        { true, 0, true, "6.18.0", "", DELAY_TRUST_COUNTED },
        { true, 0, false, "6.18.0", "", DELAY_TRUST_COUNTED },
        /* A sysctl that cannot be read, on a kernel that has it. */
        { false, 0, false, "6.18.0", "", DELAY_TRUST_YOUNG },
        { false, 0, false, "", "", DELAY_TRUST_YOUNG },
        /* Before 5.14 it was on from boot, or off for good. */
        { false, 0, false, "5.10.0-9", "quiet", DELAY_TRUST_ALWAYS },
        { false, 0, false, "5.10.0-9", "quiet nodelayacct", DELAY_TRUST_COUNTED },
        { false, 0, false, "5.13.0", "xnodelayacct", DELAY_TRUST_ALWAYS },
};

START_TEST(a_zero_is_trusted_as_far_as_accounting_reaches_back) {
        host.has_delayacct = trust_rows[_i].has_sysctl;
        host.delayacct = trust_rows[_i].sysctl;
        host.delayacct_booted = trust_rows[_i].booted;
        snprintf(host.kernel_release, sizeof(host.kernel_release), "%s", trust_rows[_i].release);
        tree_write_text(&tree, "proc/cmdline", "%s\n", trust_rows[_i].cmdline);
        look();
        ck_assert_int_eq(gates.delay_trust, trust_rows[_i].trust);
}
END_TEST

START_TEST(files_are_taken_to_exist_unless_the_own_thread_lacks_them) {
        look();
        ck_assert(gates.has_file[SOURCE_IO] && gates.has_file[SOURCE_SCHED]);
        tree_write_text(&tree, "proc/thread-self/sched", "x");
        look();
        ck_assert(!gates.has_file[SOURCE_IO] && gates.has_file[SOURCE_SCHED]);
}
END_TEST

START_TEST(the_specimen_tells_what_the_kernel_was_built_with) {
        static FakeThread own = { .tid = FAKE_OWN_TID };

        look();
        ck_assert_int_eq(gates.taskstats, 0);
        ck_assert_uint_eq(gates.taskstats_version, 16);
        ck_assert(gates.has_delay_members && gates.has_xacct_members && gates.has_irq_members);
        own = (FakeThread){ .tid = FAKE_OWN_TID, .version = 13, .no_space = true };
        fake.threads = &own;
        fake.n_threads = 1;
        fake.without_delays = true;
        look();
        ck_assert_uint_eq(gates.taskstats_version, 13);
        ck_assert(!gates.has_delay_members && !gates.has_xacct_members && !gates.has_irq_members);
}
END_TEST

START_TEST(taskstats_that_does_not_answer_says_why) {
        fake.own_error = -EPERM;
        look();
        ck_assert_int_eq(gates.taskstats, -EPERM);
        fake.open_error = TASKSTATS_E_NO_FAMILY;
        look();
        ck_assert_int_eq(gates.taskstats, TASKSTATS_E_NO_FAMILY);
        fake.system.open_taskstats = NULL;
        look();
        ck_assert_int_eq(gates.taskstats, TASKSTATS_E_NO_FAMILY);
}
END_TEST

/* link "self", whether it is of another namespace than process 999 */
static const struct {
        const char *target;
        bool foreign;
} self_rows[] = {
        { "999", false },
        { "998", true },
        { "0999x", true },
};

START_TEST(a_proc_that_numbers_us_differently_is_foreign) {
        look();
        ck_assert(!gates.foreign_pids);
        tree_link(&tree, "proc/self", self_rows[_i].target);
        look();
        ck_assert_int_eq(gates.foreign_pids, self_rows[_i].foreign);
        ck_assert_int_eq(gates.taskstats, self_rows[_i].foreign ? TASKSTATS_E_NO_FAMILY : 0);
}
END_TEST

static const struct {
        const char *map;
        bool own;
} map_rows[] = {
        { "         0          0 4294967295\n", false },
        { "         0       1000          1\n", true },
        { "         0          0      65536\n     65536     65536  4294901759\n", true },
};

START_TEST(a_user_namespace_is_known_by_its_map) {
        look();
        ck_assert(!gates.in_user_namespace); /* an unreadable file counts as none */
        tree_write_text(&tree, "proc/thread-self/uid_map", "%s", map_rows[_i].map);
        look();
        ck_assert_int_eq(gates.in_user_namespace, map_rows[_i].own);
}
END_TEST

START_TEST(a_proc_without_the_files_of_the_host_shows_processes_only) {
        look();
        ck_assert(!gates.only_processes);
        tree_write_text(&tree, "proc/version", "Linux\n");
        ck_assert_int_eq(renameat(tree.proc_fd, "sys", tree.fd, "hidden"), 0);
        look();
        ck_assert(!gates.only_processes);
        tree_delete(&tree, "proc/version");
        look();
        ck_assert(gates.only_processes);
}
END_TEST

static const struct {
        const char *set;
        bool sys_ptrace, dac_read_search;
} capability_rows[] = {
        { "0000000000080004", true, true },    { "0000000000080000", true, false },
        { "0000000000000004", false, true },   { "000001ffffffffff", true, true },
        { "fffffffffff7fffb", false, false },  { "", false, false },
        { "00000000000800040", false, false }, { "zz", false, false },
};

START_TEST(capabilities_are_those_in_effect) {
        tree_write_text(&tree, "proc/thread-self/status", "Name:\tx\nCapEff:\t%s\n",
                        capability_rows[_i].set);
        look();
        ck_assert_int_eq(gates.has_sys_ptrace, capability_rows[_i].sys_ptrace);
        ck_assert_int_eq(gates.has_dac_read_search, capability_rows[_i].dac_read_search);
}
END_TEST

START_TEST(schedstats_are_on_off_or_not_built) {
        look();
        ck_assert(!gates.has_sysctl_schedstats && !gates.schedstats_on);
        host.has_schedstats = true;
        look();
        ck_assert(gates.has_sysctl_schedstats && !gates.schedstats_on);
        host.schedstats = 1;
        look();
        ck_assert(gates.schedstats_on);
}
END_TEST

START_TEST(interrupt_time_is_accounted_where_its_pressure_can_be_read) {
        look();
        ck_assert(gates.has_pressure && !gates.irq_time_accounted);
        tree_write_text(&tree, "proc/pressure/irq", "full avg10=0.00\n");
        look();
        ck_assert(gates.irq_time_accounted);
}
END_TEST

START_TEST(the_root_is_threaded_when_a_child_of_it_is) {
        _cleanup_(cgroupfs_freep) Cgroupfs *cgroupfs = NULL;

        ck_assert_int_eq(cgroupfs_open_directory(tree.cgroup_fd, &cgroupfs), 0);
        gates_read(tree.proc_fd, &fake.system, &host, cgroupfs, &gates);
        ck_assert(!gates.root_is_threaded);
        tree_write_text(&tree, "cgroup/pool/cgroup.type", "threaded\n");
        gates_read(tree.proc_fd, &fake.system, &host, cgroupfs, &gates);
        ck_assert(gates.root_is_threaded);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("gates");
        TCase *kernel = tcase_create("kernel");

        tcase_add_checked_fixture(kernel, setup, teardown);
        tcase_add_loop_test(kernel, a_kernel_is_known_by_its_release, 0, ELEMENTSOF(release_rows));
        tcase_add_loop_test(kernel, a_zero_is_trusted_as_far_as_accounting_reaches_back, 0,
                            ELEMENTSOF(trust_rows));
        tcase_add_test(kernel, files_are_taken_to_exist_unless_the_own_thread_lacks_them);
        tcase_add_test(kernel, the_specimen_tells_what_the_kernel_was_built_with);
        tcase_add_test(kernel, taskstats_that_does_not_answer_says_why);
        tcase_add_loop_test(kernel, a_user_namespace_is_known_by_its_map, 0, ELEMENTSOF(map_rows));
        tcase_add_test(kernel, a_proc_without_the_files_of_the_host_shows_processes_only);
        tcase_add_loop_test(kernel, a_proc_that_numbers_us_differently_is_foreign, 0,
                            ELEMENTSOF(self_rows));
        tcase_add_loop_test(kernel, capabilities_are_those_in_effect, 0,
                            ELEMENTSOF(capability_rows));
        tcase_add_test(kernel, schedstats_are_on_off_or_not_built);
        tcase_add_test(kernel, interrupt_time_is_accounted_where_its_pressure_can_be_read);
        tcase_add_test(kernel, the_root_is_threaded_when_a_child_of_it_is);
        suite_add_tcase(suite, kernel);
        return check_main(suite);
}
