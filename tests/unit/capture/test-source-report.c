/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "capture/bpf/bpf-backend.h"
#include "capture/heap/memory-job.h"
#include "capture/procfs/procfs-backend.h"
#include "capture/source-report.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/procfs.h"

static Gates gates;
static Tally tally;
static SourceReport report;
static SourceTable table;
static RollupBudget smaps;
static HostRecord record;
static CaptureHost host;
static Heap *heap;

static int open_memory(void *userdata, int peer_fd) {
        return -EAGAIN;
}

static void make_heap(bool wanted) {
        const HeapOptions options = {
                .wanted = wanted,
                .limit_ns = 100 * NSEC_PER_MSEC,
                .cache_fd = -EBADF,
                .open_memory = open_memory,
        };

        heap = heap_free(heap);
        host = (CaptureHost){ .system = &capture_system_kernel, .gates = gates };
        ck_assert_int_eq(heap_new(&options, &host, &heap), 0);
        report.heap = heap;
}

static void setup(void) {
        gates = (Gates){ .has_delay_members = true,
                         .has_irq_members = true,
                         .has_xacct_members = true,
                         .has_pressure = true,
                         .irq_time_accounted = true };
        memset(gates.has_file, true, sizeof(gates.has_file));
        tally = (Tally){};
        report = (SourceReport){
                .backend = &procfs_backend,
                .gates = &gates,
                .tally = &tally,
                .smaps = &smaps,
                .record = &record,
        };
        record = (HostRecord){};
        smaps.mode = SMAPS_MODE_SMALL;
        smaps.largest.max_bytes = 256 << 20;
        smaps.limit_ns = NSEC_PER_SEC;
        make_heap(true);
}

static void teardown(void) {
        heap = heap_free(heap);
}

static const Source *judge(SourceId id) {
        source_report_write(&report, &table);
        return &table.sources[id];
}

START_TEST(a_user_namespace_is_named_as_the_cause) {
        static const SourceId ids[] = { SOURCE_IO, SOURCE_SMAPS_ROLLUP };

        gates.in_user_namespace = gates.has_sys_ptrace = gates.has_dac_read_search = true;
        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                tally.counts[ids[i]][SOURCE_OUTCOME_ok] = 3;
                tally.counts[ids[i]][SOURCE_OUTCOME_denied] = 4;
                ck_assert_str_eq(judge(ids[i])->reason,
                                 "capabilities of a user namespace do not reach the processes "
                                 "outside of it: run ctprofd as root or as ctprofd.service");
        }
}
END_TEST

START_TEST(a_proc_of_processes_only_is_named_as_the_cause) {
        static const SourceId ids[] = { SOURCE_HOST,           SOURCE_HOST_PRESSURE,
                                        SOURCE_HOST_CPU,       SOURCE_HOST_MEMORY,
                                        SOURCE_HOST_DISK,      SOURCE_SCHEDSTATS,
                                        SOURCE_TASKSTATS_DELAY };

        gates.only_processes = true;
        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                tally.counts[ids[i]][SOURCE_OUTCOME_unsupported] = 4;
                ck_assert_str_eq(judge(ids[i])->reason,
                                 "/proc is mounted with subset=pid and shows nothing of the host "
                                 "but its processes: mount it without");
        }
        /* A source with a cause of its own keeps it. */
        gates.has_file[SOURCE_SCHED] = false;
        ck_assert_ptr_nonnull(strstr(judge(SOURCE_SCHEDSTATS)->reason, "CONFIG_SCHED_DEBUG"));
}
END_TEST

/* ok, denied, vanished, unsupported, malformed, other */
static const struct {
        uint64_t counts[_SOURCE_OUTCOME_MAX];
        SourceState state;
} state_rows[] = {
        { { 5, 0, 0, 0, 0, 0 }, SOURCE_STATE_OK },
        { { 5, 0, 9, 0, 0, 0 }, SOURCE_STATE_OK },
        { { 0, 0, 9, 0, 0, 0 }, SOURCE_STATE_OK },
        { { 0, 0, 0, 0, 0, 0 }, SOURCE_STATE_OK },
        { { 5, 1, 0, 0, 0, 0 }, SOURCE_STATE_PARTIAL },
        { { 5, 0, 0, 1, 0, 0 }, SOURCE_STATE_PARTIAL },
        { { 5, 0, 0, 0, 1, 0 }, SOURCE_STATE_PARTIAL },
        { { 5, 0, 0, 0, 0, 1 }, SOURCE_STATE_PARTIAL },
        { { 0, 1, 0, 0, 0, 0 }, SOURCE_STATE_UNAVAILABLE },
        { { 0, 0, 3, 1, 0, 0 }, SOURCE_STATE_UNAVAILABLE },
        { { 0, 0, 0, 0, 1, 0 }, SOURCE_STATE_UNAVAILABLE },
        { { 0, 0, 0, 0, 0, 1 }, SOURCE_STATE_UNAVAILABLE },
};

START_TEST(the_counts_decide_the_state_of_every_ordinary_source) {
        static const SourceId ids[] = {
                SOURCE_STAT,     SOURCE_SCHED,         SOURCE_SCHEDSTATS,   SOURCE_IO,
                SOURCE_CGROUP,   SOURCE_AFFINITY,      SOURCE_SMAPS_ROLLUP, SOURCE_TASKSTATS,
                SOURCE_HOST,     SOURCE_HOST_PRESSURE, SOURCE_CGROUP_STATS, SOURCE_SCHED_EXT,
                SOURCE_HOST_CPU, SOURCE_HOST_MEMORY,   SOURCE_HOST_DISK,    SOURCE_HOST_NETWORK,
        };

        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                const Source *source;

                tally_add_counts(&tally, ids[i], state_rows[_i].counts);
                source = judge(ids[i]);
                ck_assert_int_eq(source->state, state_rows[_i].state);
                ck_assert_mem_eq(source->counts, state_rows[_i].counts, sizeof(source->counts));
                ck_assert_int_eq(source->reason[0] == '\0', source->state == SOURCE_STATE_OK);
        }
}
END_TEST

START_TEST(every_reason_is_one_sentence_that_fits) {
        bool skipped = _i == 1;

        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                for (unsigned outcome = 0; outcome < _SOURCE_OUTCOME_MAX; outcome++) {
                        const Source *source;

                        tally = (Tally){ .n_smaps_skipped = skipped ? UINT64_MAX : 0,
                                         .n_smaps_large = UINT64_MAX,
                                         .smaps_largest_bytes = UINT64_MAX };
                        smaps.limit_ns = smaps.largest.max_bytes = UINT64_MAX;
                        tally.counts[id][outcome]++;
                        source = judge((SourceId) id);
                        ck_assert_uint_lt(strlen(source->reason), SOURCE_REASON_BYTES - 1);
                        ck_assert_ptr_null(strchr(source->reason, '\n'));
                        ck_assert_ptr_null(strstr(source->reason, ". "));
                }
}
END_TEST

#define LARGE                                                                   \
        "2 processes of more than 256 MiB, the largest of 8396 MiB, left out, " \
        "as reading stalls large ones: --smaps=all reads all"

START_TEST(processes_that_were_left_out_for_their_size_are_told_with_it) {
        uint64_t *counts = tally.counts[SOURCE_SMAPS_ROLLUP];

        tally.n_smaps_large = counts[SOURCE_OUTCOME_other] = 2;
        tally.smaps_largest_bytes = UINT64_C(8396) << 20;
        ck_assert_str_eq(judge(SOURCE_SMAPS_ROLLUP)->reason, LARGE);
        ck_assert_int_eq(judge(SOURCE_SMAPS_ROLLUP)->state, SOURCE_STATE_UNAVAILABLE);
        counts[SOURCE_OUTCOME_ok] = 1;
        ck_assert_int_eq(judge(SOURCE_SMAPS_ROLLUP)->state, SOURCE_STATE_PARTIAL);
        /* The more frequent cause is told, too. */
        counts[SOURCE_OUTCOME_malformed] = 3;
        ck_assert_str_eq(judge(SOURCE_SMAPS_ROLLUP)->reason,
                         "some of it could not be parsed and is left out; " LARGE);
        smaps.mode = SMAPS_MODE_NONE;
        ck_assert_int_eq(judge(SOURCE_SMAPS_ROLLUP)->state, SOURCE_STATE_NOT_REQUESTED);
}
END_TEST

START_TEST(the_commonest_failure_is_the_one_explained) {
        tally.counts[SOURCE_IO][SOURCE_OUTCOME_ok] = 1;
        tally.counts[SOURCE_IO][SOURCE_OUTCOME_denied] = 3;
        tally.counts[SOURCE_IO][SOURCE_OUTCOME_malformed] = 2;
        ck_assert_ptr_nonnull(strstr(judge(SOURCE_IO)->reason, "CAP_SYS_PTRACE"));
        tally.counts[SOURCE_IO][SOURCE_OUTCOME_malformed] = 4;
        ck_assert_ptr_nonnull(strstr(judge(SOURCE_IO)->reason, "parsed"));
}
END_TEST

static const struct {
        int mount;
        SourceState state;
        const char *part;
} mount_rows[] = {
        { 0, SOURCE_STATE_OK, "" },
        { CGROUPFS_E_NO_MOUNT, SOURCE_STATE_UNAVAILABLE, "mount -t cgroup2" },
        { TEXT_E_DENIED, SOURCE_STATE_UNAVAILABLE, "cannot be opened" },
        { -5, SOURCE_STATE_UNAVAILABLE, "cannot be opened" },
};

START_TEST(cgroups_need_a_mount) {
        report.cgroup_mount = mount_rows[_i].mount;
        ck_assert_int_eq(judge(SOURCE_CGROUP_STATS)->state, mount_rows[_i].state);
        ck_assert_ptr_nonnull(strstr(judge(SOURCE_CGROUP_STATS)->reason, mount_rows[_i].part));
        if (mount_rows[_i].mount != 0)
                ck_assert_ptr_nonnull(
                        strstr(judge(SOURCE_CGROUP_PRESSURE)->reason, mount_rows[_i].part));
}
END_TEST

START_TEST(controllers_of_version_1_are_named_as_not_read) {
        const Source *source;

        report.cgroup_v1 = "cpu, memory";
        tally.counts[SOURCE_CGROUP_STATS][SOURCE_OUTCOME_ok] = 5;
        source = judge(SOURCE_CGROUP_STATS);
        ck_assert_int_eq(source->state, SOURCE_STATE_PARTIAL);
        ck_assert_str_eq(source->reason, "cpu, memory: version 1 controllers here, which are not "
                                         "read, and version 2 lacks them");
        report.cgroup_mount = CGROUPFS_E_NO_MOUNT;
        source = judge(SOURCE_CGROUP_STATS);
        ck_assert_int_eq(source->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(source->reason, "mount -t cgroup2"));
        ck_assert_ptr_nonnull(strstr(source->reason, "; cpu, memory: version 1 controllers"));
}
END_TEST

START_TEST(cgroup_pressure_that_nobody_has_is_explained_by_the_hosts) {
        ck_assert_int_eq(judge(SOURCE_CGROUP_PRESSURE)->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(judge(SOURCE_CGROUP_PRESSURE)->reason, "psi=1"));
        tally.counts[SOURCE_HOST_PRESSURE][SOURCE_OUTCOME_ok] = 3;
        ck_assert_ptr_nonnull(strstr(judge(SOURCE_CGROUP_PRESSURE)->reason, "cgroup_disable"));
        tally.counts[SOURCE_CGROUP_PRESSURE][SOURCE_OUTCOME_ok] = 3;
        ck_assert_int_eq(judge(SOURCE_CGROUP_PRESSURE)->state, SOURCE_STATE_OK);
}
END_TEST

START_TEST(a_missing_scheduler_class_does_not_apply) {
        report.sched_ext = TEXT_E_ABSENT;
        ck_assert_int_eq(judge(SOURCE_SCHED_EXT)->state, SOURCE_STATE_NOT_APPLICABLE);
        report.sched_ext = TEXT_E_DENIED;
        ck_assert_int_eq(judge(SOURCE_SCHED_EXT)->state, SOURCE_STATE_UNAVAILABLE);
}
END_TEST

START_TEST(a_fully_readable_host_is_complete_without_jemalloc) {
        for (unsigned id = 0; id < _SOURCE_MAX; id++)
                if (id != SOURCE_JEMALLOC)
                        tally.counts[id][SOURCE_OUTCOME_ok]++;
        tally.counts[SOURCE_JEMALLOC][SOURCE_OUTCOME_denied]++;
        ck_assert_int_eq(judge(SOURCE_JEMALLOC)->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert(source_table_is_complete(&table));
        tally.processes_hidden = true;
        (void) judge(SOURCE_STAT);
        ck_assert(!source_table_is_complete(&table));
}
END_TEST

static const struct {
        HeapSummary summary;
        uint64_t counts[_SOURCE_OUTCOME_MAX];
        bool has_sys_ptrace, in_user_namespace;
        SourceState state;
        const char *reason;
} heap_rows[] = {
        { {},
          {},
          false,
          false,
          SOURCE_STATE_NOT_APPLICABLE,
          "no process of this host uses jemalloc" },
        /* Its threads all ended: that is no lack of processes with it. */
        { { .n_detected = 1 },
          { [SOURCE_OUTCOME_vanished] = 3 },
          false,
          false,
          SOURCE_STATE_OK,
          "" },
        { { .n_detected = 1, .n_ok = 3 },
          { [SOURCE_OUTCOME_ok] = 3, [SOURCE_OUTCOME_vanished] = 3 },
          false,
          false,
          SOURCE_STATE_OK,
          "" },
        { { .failures = { [HEAP_FAILURE_PERMISSION] = 9 } },
          { [SOURCE_OUTCOME_denied] = 30 },
          false,
          false,
          SOURCE_STATE_UNAVAILABLE,
          "reading the memory of other processes needs CAP_SYS_PTRACE: run ctprofd as root or as "
          "ctprofd.service" },
        { { .failures = { [HEAP_FAILURE_PERMISSION] = 9 } },
          { [SOURCE_OUTCOME_denied] = 30 },
          true,
          false,
          SOURCE_STATE_UNAVAILABLE,
          "the memory of some processes is refused even with CAP_SYS_PTRACE: a security policy "
          "protects them" },
        { { .failures = { [HEAP_FAILURE_PERMISSION] = 9 } },
          { [SOURCE_OUTCOME_denied] = 30 },
          true,
          true,
          SOURCE_STATE_UNAVAILABLE,
          "capabilities of a user namespace do not reach the processes outside of it: run ctprofd "
          "as root or as ctprofd.service" },
        /* The most frequent one that is a gap; a setting goes before. */
        { { .n_detected = 1,
            .n_ok = 1,
            .failures = { [HEAP_FAILURE_TID_MISMATCH] = 2,
                          [HEAP_FAILURE_MAPS_READ] = 1,
                          [HEAP_FAILURE_IDENTITY_CHANGED] = 7,
                          [HEAP_FAILURE_THREAD_EXITED] = 8 } },
          { [SOURCE_OUTCOME_ok] = 1, [SOURCE_OUTCOME_other] = 3, [SOURCE_OUTCOME_vanished] = 15 },
          false,
          false,
          SOURCE_STATE_PARTIAL,
          "2 threads (tid-mismatch): what was found in their memory is of another thread" },
        { { .failures = { [HEAP_FAILURE_MAPS_READ] = 5, [HEAP_FAILURE_TIME_BUDGET] = 1 } },
          { [SOURCE_OUTCOME_other] = 6 },
          false,
          false,
          SOURCE_STATE_UNAVAILABLE,
          "the time budget of 100 ms did not suffice for 1 process: HeapTime= of ctprofd.conf sets "
          "it, --no-heap skips all" },
};

/* Whether there are counters of allocators here that something can stand in the way of. */
static const char *lacks_heap(void) {
        return heap_probe_is_built ? NULL : "this was built without -Dheap";
}

START_TEST(counters_of_allocators_tell_what_stands_in_their_way) {
        if (check_skips(lacks_heap()))
                return;
        gates.has_sys_ptrace = heap_rows[_i].has_sys_ptrace;
        gates.in_user_namespace = heap_rows[_i].in_user_namespace;
        make_heap(true);
        heap_summary_merge(&heap->summary, &heap_rows[_i].summary);
        tally_add_counts(&tally, SOURCE_JEMALLOC, heap_rows[_i].counts);
        ck_assert_int_eq(judge(SOURCE_JEMALLOC)->state, heap_rows[_i].state);
        ck_assert_str_eq(judge(SOURCE_JEMALLOC)->reason, heap_rows[_i].reason);
}
END_TEST

/* Every failure that makes a source partial has words that fit. */
START_TEST(every_failure_has_a_reason) {
        HeapFailure failure = (HeapFailure) _i;
        HeapSummary summary = { .n_detected = 1 };
        const char *reason;

        if (check_skips(lacks_heap()))
                return;
        if (heap_failures[failure].outcome == SOURCE_OUTCOME_vanished)
                return;
        summary.failures[failure] = UINT64_MAX;
        heap_summary_merge(&heap->summary, &summary);
        tally.counts[SOURCE_JEMALLOC][SOURCE_OUTCOME_ok]++;
        tally.counts[SOURCE_JEMALLOC][heap_failures[failure].outcome]++;
        reason = judge(SOURCE_JEMALLOC)->reason;
        ck_assert_int_eq(judge(SOURCE_JEMALLOC)->state, SOURCE_STATE_PARTIAL);
        ck_assert_uint_gt(strlen(reason), 30);
        ck_assert_uint_lt(strlen(reason), SOURCE_REASON_BYTES - 1);
        ck_assert_ptr_null(strstr(reason, "(null)"));
}
END_TEST

START_TEST(counters_that_were_not_asked_for_are_not_missing) {
        make_heap(false);
        ck_assert_int_eq(judge(SOURCE_JEMALLOC)->state, SOURCE_STATE_NOT_REQUESTED);
        gates.foreign_pids = true;
        make_heap(true);
        ck_assert_int_eq(judge(SOURCE_JEMALLOC)->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_ptr_nonnull(
                strstr(judge(SOURCE_JEMALLOC)->reason,
                       heap_probe_is_built ? "another pid namespace" : "-Dheap=disabled"));
}
END_TEST

static const struct {
        HostNetworkLack lack;
        const char *words;
} network_rows[] = {
        { HOST_NETWORK_FOREIGN_PIDS, "on the host, not in a container" },
        { HOST_NETWORK_OTHER_NAMESPACE, "another network namespace" },
        { HOST_NETWORK_DENIED, "needs CAP_SYS_PTRACE" },
        { HOST_NETWORK_NO_FILES, "CONFIG_NET" },
};

START_TEST(a_network_that_is_not_the_hosts_says_whose_it_is) {
        const Source *source;

        tally.counts[SOURCE_HOST_NETWORK][SOURCE_OUTCOME_unsupported] = 1;
        record.network = network_rows[_i].lack;
        source = judge(SOURCE_HOST_NETWORK);
        ck_assert_int_eq(source->state, SOURCE_STATE_UNAVAILABLE);
        ck_assert_msg(strstr(source->reason, network_rows[_i].words) != NULL, "%s", source->reason);
}
END_TEST

START_TEST(each_source_tells_through_what_it_was_read) {
        static const struct {
                SourceId id;
                SourceBackend from_files, through_bpf;
        } ways[] = {
                { SOURCE_STAT, SOURCE_BACKEND_PROCFS, SOURCE_BACKEND_BPF },
                { SOURCE_AFFINITY, SOURCE_BACKEND_PROCFS, SOURCE_BACKEND_BPF },
                { SOURCE_TASKSTATS, SOURCE_BACKEND_TASKSTATS, SOURCE_BACKEND_BPF },
                { SOURCE_TASKSTATS_IRQ, SOURCE_BACKEND_TASKSTATS, SOURCE_BACKEND_BPF },
                { SOURCE_SMAPS_ROLLUP, SOURCE_BACKEND_NONE, SOURCE_BACKEND_NONE },
                { SOURCE_HOST_CPU, SOURCE_BACKEND_NONE, SOURCE_BACKEND_NONE },
        };

        for (size_t i = 0; i < ELEMENTSOF(ways); i++) {
                report.backend = &procfs_backend;
                ck_assert_uint_eq(judge(ways[i].id)->backend, ways[i].from_files);
                report.backend = &bpf_backend;
                ck_assert_uint_eq(judge(ways[i].id)->backend, ways[i].through_bpf);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("source-report");
        TCase *states = tcase_create("states");

        tcase_add_checked_fixture(states, setup, teardown);
        tcase_add_test(states, each_source_tells_through_what_it_was_read);
        tcase_add_test(states, a_user_namespace_is_named_as_the_cause);
        tcase_add_test(states, a_proc_of_processes_only_is_named_as_the_cause);
        tcase_add_loop_test(states, the_counts_decide_the_state_of_every_ordinary_source, 0,
                            ELEMENTSOF(state_rows));
        tcase_add_loop_test(states, every_reason_is_one_sentence_that_fits, 0, 2);
        tcase_add_test(states, processes_that_were_left_out_for_their_size_are_told_with_it);
        tcase_add_test(states, the_commonest_failure_is_the_one_explained);
        tcase_add_loop_test(states, cgroups_need_a_mount, 0, ELEMENTSOF(mount_rows));
        tcase_add_test(states, controllers_of_version_1_are_named_as_not_read);
        tcase_add_test(states, cgroup_pressure_that_nobody_has_is_explained_by_the_hosts);
        tcase_add_test(states, a_missing_scheduler_class_does_not_apply);
        tcase_add_test(states, a_fully_readable_host_is_complete_without_jemalloc);
        tcase_add_loop_test(states, counters_of_allocators_tell_what_stands_in_their_way, 0,
                            ELEMENTSOF(heap_rows));
        tcase_add_loop_test(states, every_failure_has_a_reason, 0, _HEAP_FAILURE_MAX);
        tcase_add_test(states, counters_that_were_not_asked_for_are_not_missing);
        tcase_add_loop_test(states, a_network_that_is_not_the_hosts_says_whose_it_is, 0,
                            ELEMENTSOF(network_rows));
        suite_add_tcase(suite, states);
        return check_main(suite);
}
