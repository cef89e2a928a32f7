/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macro.h"
#include "captured.h"

/* Trees saved from booted kernels (tests/fixtures/README.md): the whole way from bytes to rows. */
static const struct {
        const char *name;
        pid_t service;
        uint64_t wait_count, wait_sum, block_sum, wakeups; /* as its sched file prints them */
        uint64_t slice;                                    /* 0: not printed */
        bool has_ext;
} kernel_rows[] = {
        { "6.1-schedstats", 177, 71, 3842449803, 0, 2, 0, false },
        { "6.12-schedstats", 245, 76, 3790741774, 16702832, 3, 1400000, false },
        { "7.2-scx", 212, 169, 63538664, 8793885, 3, 1400000, true },
};

static int open_fixture(const char *kind, const char *name) {
        char path[512];
        int fd;

        snprintf(path, sizeof(path), "%s/fixtures/%s/%s", TESTS_DIR, kind, name);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_msg(fd >= 0, "%s", path);
        return fd;
}

static const SourceId whole_sources[] = {
        SOURCE_STAT,          SOURCE_SCHED,        SOURCE_SCHEDSTATS, SOURCE_IO,
        SOURCE_CGROUP,        SOURCE_SMAPS_ROLLUP, SOURCE_TASKSTATS,  SOURCE_TASKSTATS_DELAY,
        SOURCE_HOST_PRESSURE, SOURCE_CGROUP_STATS,
};

static void check_optional(const Captured *captured, pid_t tid, MetricId id, bool has,
                           uint64_t value) {
        ck_assert_int_eq(captured_has(captured, tid, id), has);
        if (has)
                ck_assert_uint_eq(captured_value(captured, tid, id), value);
}

static void check_sched(const Captured *captured, int row) {
        pid_t tid = kernel_rows[row].service;
        uint64_t slice = kernel_rows[row].slice;

        ck_assert_uint_eq(captured_value(captured, tid, METRIC_wait_count),
                          kernel_rows[row].wait_count);
        ck_assert_uint_eq(captured_value(captured, tid, METRIC_wait_sum),
                          kernel_rows[row].wait_sum);
        ck_assert_uint_eq(captured_value(captured, tid, METRIC_block_sum),
                          kernel_rows[row].block_sum);
        ck_assert_uint_eq(captured_value(captured, tid, METRIC_nr_wakeups),
                          kernel_rows[row].wakeups);
        ck_assert_uint_gt(captured_value(captured, tid, METRIC_exec_max), 0);
        ck_assert(captured_has(captured, tid, METRIC_voluntary_sleep_ns));
        check_optional(captured, tid, METRIC_fair_slice_ns, slice != 0, slice);
        check_optional(captured, tid, METRIC_ext_enabled, kernel_rows[row].has_ext, 1);
}

START_TEST(a_saved_kernel_is_read_whole) {
        const char *name = kernel_rows[_i].name;
        pid_t service = kernel_rows[_i].service;
        Tree tree = { .proc_fd = open_fixture("proc", name),
                      .sys_fd = open_fixture("sys", name),
                      .cgroup_fd = open_fixture("cgroup", name) };
        FakeSystem fake;
        Captured captured;

        fake_system_init(&fake, &tree);
        captured_init(&captured, &tree, &fake);
        captured_run(&captured);
        ck_assert_int_eq(captured.result, 0);
        ck_assert_uint_eq(captured.n_threads, 2);
        ck_assert(span_is(captured_find(&captured, 1)->sample.comm, "systemd"));
        ck_assert(span_is(captured_find(&captured, service)->sample.cgroup,
                          "/system.slice/burner.service"));
        ck_assert_uint_gt(captured_find(&captured, 1)->smaps.n, 0);
        ck_assert_uint_eq(captured_value(&captured, service, METRIC_nr_threads), 1);
        check_sched(&captured, _i);
        for (size_t i = 0; i < ELEMENTSOF(whole_sources); i++) {
                const Source *source = &captured.sources.sources[whole_sources[i]];

                ck_assert_msg(source->state == SOURCE_STATE_OK, "%s: %s",
                              metric_source_names[whole_sources[i]], source->reason);
        }
        captured_done(&captured);
        close(tree.proc_fd);
        close(tree.sys_fd);
        close(tree.cgroup_fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("capture-kernels");
        TCase *kernels = tcase_create("kernels");

        tcase_add_loop_test(kernels, a_saved_kernel_is_read_whole, 0, ELEMENTSOF(kernel_rows));
        suite_add_tcase(suite, kernels);
        return check_main(suite);
}
