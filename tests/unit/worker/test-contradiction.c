/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/contradiction/contradiction.h"

#include "check-main.h"
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Two CPUs for ten seconds. */
#define ELAPSED_NS (UINT64_C(10) * NSEC_PER_SEC)
#define MS(ms) ((uint64_t) (ms) *NSEC_PER_MSEC)

static Cohorts cohorts;
static LimitTally limits;
static HostView view;
static HostItem cpus[2];
static HostUse use;
static ContradictionBasis basis;
static const Period period = { .known = true, .is_interval = true, .end_ns = ELAPSED_NS };
static json_object *told;

static void set_cpu(Amount counts[static HOST_MAX_COLUMNS], uint64_t used, uint64_t idle) {
        for (unsigned i = 0; i < HOST_MAX_COLUMNS; i++)
                counts[i] = amount_of(0);
        counts[HOST_CPU_USER] = amount_of(used);
        counts[HOST_CPU_IDLE] = amount_of(idle * 3 / 4);
        counts[HOST_CPU_IOWAIT] = amount_of(idle - idle * 3 / 4);
}

/* For how long each CPU was used, in hundredths of a second. */
static void set_used(uint64_t first, uint64_t second) {
        HostPart *part = &view.difference.parts[HOST_PART_CPU];

        set_cpu(cpus[0].counts, first, 1000 - first);
        set_cpu(cpus[1].counts, second, 1000 - second);
        set_cpu(part->all_cpus, first + second, 2000 - first - second);
        use.cpu_used_ns = amount_of((first + second) * 10 * NSEC_PER_MSEC);
}

static void setup(void) {
        cohorts = (Cohorts){};
        limits = (LimitTally){};
        memcpy(cpus[0].name, "0", 2);
        memcpy(cpus[1].name, "1", 2);
        view = (HostView){ .difference = { .user_hz = 100 } };
        view.difference.parts[HOST_PART_CPU] =
                (HostPart){ .has = true, .items = cpus, .n_items = 2 };
        use = (HostUse){ .n_cpus = amount_of(2) };
        basis = (ContradictionBasis){ .elapsed_ns = amount_of(ELAPSED_NS),
                                      .host = &view,
                                      .use = &use,
                                      .cohorts = &cohorts,
                                      .limits = &limits };
        set_used(500, 500);
}

static void teardown(void) {
        cohorts_done(&cohorts);
        key_tree_done(&limits.cgroups, NULL);
        (void) json_object_put(told);
        told = NULL;
}

/* Threads. */

typedef struct Told {
        const char *process, *cpus, *cgroup;
        int64_t policy, nice;
        MetricId metric; /* another time, or the state */
        uint64_t run_ms, wait_ms, other;
} Told;

static ThreadSample thread_of(const Told *what) {
        ThreadSample sample = {
                .tid = 7,
                .tgid = 7,
                .start_ticks = 1,
                .pcomm = span_of(what->process),
                .comm = span_of(what->process),
                .cgroup = span_of(what->cgroup ? what->cgroup : "/"),
        };

        thread_sample_put(&sample, METRIC_run_time_ns, MS(what->run_ms));
        thread_sample_put(&sample, METRIC_wait_time_ns, MS(what->wait_ms));
        if (what->metric != METRIC_run_time_ns)
                thread_sample_put(&sample, what->metric, what->other);
        if (what->cpus) {
                thread_sample_put(&sample, METRIC_cpu_affinity, 1);
                sample.cpus = span_of(what->cpus);
        }
        thread_sample_put(&sample, METRIC_policy, (uint64_t) what->policy);
        thread_sample_put(&sample, METRIC_nice, (uint64_t) what->nice);
        return sample;
}

/* One that lived on and did this. */
static void add(Told what) {
        ThreadSample after = thread_of(&what), before = after;

        for (unsigned i = 0; i < _METRIC_MAX; i++)
                if (thread_sample_has(&before, i) && metric_is_cumulative((MetricId) i))
                        thread_sample_put(&before, (MetricId) i, 0);
        if (what.metric == METRIC_state)
                thread_sample_put(&before, METRIC_state, 'S');
        ck_assert_int_eq(cohorts_add(&cohorts, &period, &before, &after), 0);
        view.waiting_ns = amount_of(view.waiting_ns.n + MS(what.wait_ms));
}

/* Threads that ended and did this; @had: what the one of them had by then that was there before. */
static void add_exited(Told what, uint64_t had_ms) {
        ExitedRow row = { .exits = 3 };
        ThreadSample gone;

        row.sample = thread_of(&what);
        ck_assert_int_eq(cohorts_add_exited(&cohorts, SIDE_AFTER, &row), 0);
        what.wait_ms = had_ms;
        gone = thread_of(&what);
        if (had_ms > 0)
                ck_assert_int_eq(cohorts_add(&cohorts, &period, &gone, NULL), 0);
        view.waiting_ns =
                amount_of(view.waiting_ns.n + thread_sample_get(&row.sample, METRIC_wait_time_ns) -
                          MS(had_ms));
}

static void throttle(const char *cgroup, uint64_t ms) {
        for (unsigned side = 0; side < SIDES; side++) {
                char json[128];

                (void) snprintf(json, sizeof(json),
                                "{\"cpu\":{\"nr_throttled\":%llu,\"throttled_usec\":%llu}}",
                                side == SIDE_AFTER && ms > 0 ? 50ULL : 0ULL,
                                side == SIDE_AFTER ? (unsigned long long) ms * 1000 : 0ULL);
                ck_assert_int_eq(
                        limit_tally_add(&limits, (Side) side, span_of(cgroup), span_of(json)), 0);
        }
}

static void press(unsigned resource, uint64_t ms) {
        Reading *totals[SIDES];

        for (unsigned side = 0; side < SIDES; side++)
                totals[side] = &view.pressure[side]
                                        .values[resource][PRESSURE_HALF_SOME][PRESSURE_VALUE_TOTAL];
        *totals[SIDE_BEFORE] = READING(500);
        *totals[SIDE_AFTER] = READING(500 + ms * 1000);
}

static void tell(void) {
        JsonWriter writer;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&writer, &text);
        ck_assert_int_eq(contradictions_write_json(&basis, &writer), 0);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        (void) json_object_put(told);
        told = json_tokener_parse(text.bytes);
        ck_assert_msg(json_object_is_type(told, json_type_array), "%s", text.bytes);
        buffer_done(&text);
}

static const char *member(size_t i, const char *key) {
        json_object *value = json_object_object_get(json_object_array_get_idx(told, i), key);

        return value ? json_object_get_string(value) : "";
}

/* Tells all sentences there are, in their order; NULL ends them. */
static void expect(const char *first, const char *second) {
        const char *const wanted[] = { first, second };
        size_t n = first ? second ? 2 : 1 : 0;

        tell();
        ck_assert_msg(json_object_array_length(told) == n, "%s", json_object_to_json_string(told));
        for (size_t i = 0; i < n; i++)
                ck_assert_str_eq(member(i, "text"), wanted[i]);
}

/* waiting */

START_TEST(a_host_that_is_full_or_rests_is_no_contradiction) {
        expect(NULL, NULL);
        add((Told){ .process = "make", .cpus = "0-1", .run_ms = 9000, .wait_ms = 9000 });
        set_used(880, 880); /* 0.24 CPUs are idle */
        expect(NULL, NULL);
        set_used(870, 880);
        expect("0.90 threads wait while 0.25 CPUs are idle: not explained (make 0.90)", NULL);
        ck_assert_str_eq(member(0, "what"), "waiting");
        ck_assert_str_eq(member(0, "why"), "");
        ck_assert_str_eq(member(0, "waitingNs"), "9000000000");
        ck_assert_str_eq(member(0, "idleNs"), "2500000000");
}
END_TEST

START_TEST(little_waiting_is_no_contradiction) {
        add((Told){ .process = "make", .cpus = "0-1", .run_ms = 9000, .wait_ms = 2499 });
        expect(NULL, NULL);
        add((Told){ .process = "make", .cpus = "0-1", .run_ms = 1, .wait_ms = 1 });
        expect("0.25 threads wait while 1.00 CPUs are idle: not explained (make 0.25)", NULL);
        view.waiting_ns.known = false;
        expect(NULL, NULL);
}
END_TEST

/* Ticks say that 1.0 was idle, but threads ran for 1.9. */
START_TEST(what_threads_ran_is_not_idle) {
        add((Told){ .process = "make", .cpus = "0-1", .run_ms = 19000, .wait_ms = 9000 });
        basis.believed_ns = amount_of(MS(19000));
        expect(NULL, NULL);
        basis.believed_ns = amount_of(MS(15000));
        expect("0.90 threads wait while 0.50 CPUs are idle: not explained (make 0.90)", NULL);
}
END_TEST

START_TEST(two_share_a_full_cpu) {
        set_used(20, 1000);
        add((Told){ .process = "redis-server", .cpus = "1", .run_ms = 5000, .wait_ms = 4900 });
        add((Told){ .process = "python3", .cpus = "1", .run_ms = 4900, .wait_ms = 5000 });
        add((Told){ .process = "idle", .cpus = "0-1", .run_ms = 40, .wait_ms = 10 });
        add((Told){ .process = "other", .cpus = "0", .run_ms = 9000, .wait_ms = 10 });
        expect("0.99 threads wait while 0.98 CPUs are idle: python3 and redis-server share CPU 1, "
               "100 % busy, while CPU 0 is idle",
               NULL);
        ck_assert_str_eq(member(0, "why"), "affinity");
        ck_assert_str_eq(member(0, "process"), "python3");
        ck_assert_str_eq(member(0, "with"), "redis-server");
        ck_assert_str_eq(member(0, "cpus"), "1");
        ck_assert_str_eq(member(0, "idleCpus"), "0");
        set_used(500, 930);
        expect("0.99 threads wait while 0.57 CPUs are idle: python3 and redis-server share CPU 1, "
               "93 % busy, while CPU 0 is 50 % idle",
               NULL);
        set_used(500, 890); /* it is not full, so that there is no need to wait for it */
        expect("0.99 threads wait while 0.61 CPUs are idle: not explained (python3 0.50)", NULL);
}
END_TEST

START_TEST(threads_of_one_process_share_a_full_cpu) {
        set_used(1000, 100);
        add((Told){ .process = "stress", .cpus = "0", .run_ms = 5000, .wait_ms = 4900 });
        add((Told){ .process = "stress", .cpus = "0", .run_ms = 4900, .wait_ms = 5000 });
        expect("0.99 threads wait while 0.90 CPUs are idle: 2 threads of stress share CPU 0, "
               "100 % busy, while CPU 1 is 90 % idle",
               NULL);
        ck_assert_str_eq(member(0, "with"), "");
}
END_TEST

/* Who waits may be pinned to what others use who could go elsewhere. */
START_TEST(one_may_use_nothing_but_a_full_cpu) {
        set_used(1000, 100);
        add((Told){ .process = "redis-server", .cpus = "0", .run_ms = 5000, .wait_ms = 4900 });
        add((Told){ .process = "python3", .cpus = "0-1", .run_ms = 5000, .wait_ms = 100 });
        expect("0.50 threads wait while 0.90 CPUs are idle: redis-server may use only CPU 0, "
               "100 % busy, while CPU 1 is 90 % idle",
               NULL);
}
END_TEST

START_TEST(a_quota_comes_first) {
        set_used(20, 1000);
        add((Told){ .process = "nginx",
                    .cpus = "1",
                    .cgroup = "/web/a",
                    .run_ms = 5000,
                    .wait_ms = 4000 });
        add((Told){ .process = "make",
                    .cpus = "1",
                    .cgroup = "/build",
                    .run_ms = 4900,
                    .wait_ms = 6000 });
        throttle("/", 0);
        throttle("/build", 0);
        throttle("/web", 499); /* too little for so much waiting */
        expect("1.00 threads wait while 0.98 CPUs are idle: make and nginx share CPU 1, 100 % "
               "busy, while CPU 0 is idle",
               NULL);
        throttle("/web", 3500);
        expect("1.00 threads wait while 0.98 CPUs are idle: the CPU quota of /web throttled nginx "
               "for 3.50 s",
               NULL);
        ck_assert_str_eq(member(0, "why"), "quota");
        ck_assert_str_eq(member(0, "cgroup"), "/web");
        ck_assert_str_eq(member(0, "process"), "nginx");
        ck_assert_str_eq(member(0, "throttledNs"), "3500000000");
}
END_TEST

/* Those that were throttled waited for less than a third of it. */
START_TEST(a_quota_of_others_explains_nothing) {
        add((Told){ .process = "nginx", .cpus = "0-1", .cgroup = "/web", .wait_ms = 3000 });
        add((Told){ .process = "make", .cpus = "0-1", .cgroup = "/build", .wait_ms = 6100 });
        throttle("/web", 3500);
        expect("0.91 threads wait while 1.00 CPUs are idle: not explained (make 0.61)", NULL);
}
END_TEST

/* The three waited for 9 s, of which the one that was there before had 5 s. */
START_TEST(who_ended_waited_too) {
        add_exited((Told){ .process = "cc1", .cgroup = "/build", .wait_ms = 9000 }, 5000);
        throttle("/build", 6000);
        expect("0.40 threads wait while 1.00 CPUs are idle: the CPU quota of /build throttled cc1 "
               "for 6.00 s",
               NULL);
}
END_TEST

START_TEST(a_class_or_nice_may_be_the_reason) {
        add((Told){ .process = "boinc", .cpus = "0-1", .policy = 5, .wait_ms = 2000 });
        add((Told){ .process = "make", .cpus = "0-1", .nice = 10, .wait_ms = 3000 });
        expect("0.50 threads wait while 1.00 CPUs are idle: boinc is of class SCHED_IDLE", NULL);
        ck_assert_str_eq(member(0, "policy"), "SCHED_IDLE");
        add((Told){ .process = "make", .cpus = "0-1", .nice = 10, .wait_ms = 3000 });
        expect("0.80 threads wait while 1.00 CPUs are idle: make runs at nice 10", NULL);
        ck_assert_str_eq(member(0, "nice"), "10");
}
END_TEST

/* pressure */

START_TEST(pressure_that_groups_explain_is_none) {
        press(PRESSURE_RESOURCE_IO, 9000);
        add((Told){ .process = "dd", .metric = METRIC_storage_wait_ns, .other = MS(3000) });
        expect(NULL, NULL);
        press(PRESSURE_RESOURCE_IO, 9100);
        expect("pressure io 91 %, but groups waited only 0.30: no thread was in state D at the end",
               NULL);
        ck_assert_str_eq(member(0, "what"), "pressure");
        ck_assert_str_eq(member(0, "resource"), "io");
        ck_assert_str_eq(member(0, "pressureNs"), "9100000000");
        ck_assert_str_eq(member(0, "groupsNs"), "3000000000");
        press(PRESSURE_RESOURCE_IO, 2499);
        expect(NULL, NULL);
}
END_TEST

/* The first of the accounts that has a thread tells, and thrashing is waiting for memory. */
START_TEST(each_resource_has_waits_of_its_own) {
        press(PRESSURE_RESOURCE_MEMORY, 6000);
        press(PRESSURE_RESOURCE_IO, 6000);
        press(PRESSURE_RESOURCE_CPU, 6000);
        add((Told){ .process = "dd", .metric = METRIC_blkio_delay_total_ns, .other = MS(2000) });
        expect("pressure memory 60 %, but groups waited only 0.00: no thread was in state D at the "
               "end",
               "pressure cpu 60 %, but groups waited only 0.00: no thread was in state D at the "
               "end");
        add((Told){
                .process = "dd", .metric = METRIC_thrashing_delay_total_ns, .other = MS(2000) });
        add((Told){ .process = "dd", .run_ms = 9000, .wait_ms = 2000 });
        expect(NULL, NULL);
}
END_TEST

START_TEST(who_is_stuck_is_named) {
        static const struct {
                const char *process, *thread;
                bool kthread, before;
                unsigned n;
        } threads[] = {
                { "jbd2", "jbd2", true, true, 9 },  { "a", "a", false, false, 5 },
                { "mysqld", "io", false, true, 2 }, { "b", "b", false, false, 2 },
                { "c", "c", false, false, 1 },
        };

        press(PRESSURE_RESOURCE_IO, 9900);
        for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                for (unsigned k = 0; k < threads[i].n; k++) {
                        const Told like = { .process = threads[i].process,
                                            .metric = METRIC_state,
                                            .other = 'D' };
                        ThreadSample after = thread_of(&like), before = after;

                        after.comm = span_of(threads[i].thread);
                        after.has_kthread = true;
                        after.kthread = threads[i].kthread;
                        if (!threads[i].before)
                                thread_sample_put(&before, METRIC_state, 'S');
                        ck_assert_int_eq(cohorts_add(&cohorts, &period, &before, &after), 0);
                }
        expect("pressure io 99 %, but groups waited only 0.00: in state D: mysqld/io \u00d72, "
               "a \u00d75, b \u00d72, 2 more names",
               NULL);
}
END_TEST

/* The kernel counts a wait for a ring as pressure of I/O, though nobody waits for storage. */
START_TEST(who_waits_for_a_ring_is_named) {
        press(PRESSURE_RESOURCE_IO, 9000);
        add((Told){ .process = "fio", .metric = METRIC_async_io_wait_ns, .other = MS(2999) });
        expect("pressure io 90 %, but groups waited only 0.00: no thread was in state D at the end",
               NULL);
        add((Told){ .process = "fio", .metric = METRIC_async_io_wait_ns, .other = MS(1) });
        expect("pressure io 90 %, but groups waited only 0.00: fio waits in io_uring_enter for its "
               "ring (0.30)",
               NULL);
        ck_assert_str_eq(member(0, "ring"), "fio");
        press(PRESSURE_RESOURCE_MEMORY, 9000); /* which is none of its doing */
        expect("pressure io 90 %, but groups waited only 0.00: fio waits in io_uring_enter for its "
               "ring (0.30)",
               "pressure memory 90 %, but groups waited only 0.00: no thread was in state D at the "
               "end");
}
END_TEST

/* limits */

START_TEST(limits_of_version_1_are_not_known) {
        set_used(1000, 1000);
        add((Told){ .process = "make", .cpus = "0-1", .run_ms = 9000, .wait_ms = 9000 });
        expect(NULL, NULL);
        basis.cgroup_v1 = SPAN_LITERAL("memory");
        expect(NULL, NULL);
        basis.cgroup_v1 = SPAN_LITERAL("cpu, cpuacct, memory, pids");
        expect("limits unknown (cgroup v1: cpu, memory): make waits for a CPU (0.90)", NULL);
        ck_assert_str_eq(member(0, "controllers"), "[ \"cpu\", \"memory\" ]");
        ck_assert_str_eq(member(0, "process"), "make");
}
END_TEST

START_TEST(memory_may_be_limited_where_a_process_reads_anew) {
        basis.cgroup_v1 = SPAN_LITERAL("memory");
        add((Told){ .process = "db", .metric = METRIC_storage_wait_ns, .other = MS(2600) });
        expect("limits unknown (cgroup v1: memory): db waits for storage (0.26)", NULL);
        add((Told){
                .process = "web", .metric = METRIC_thrashing_delay_total_ns, .other = MS(2500) });
        expect("limits unknown (cgroup v1: memory): web reads anew what had been in memory (0.25)",
               NULL);
        basis.cgroup_v1 = SPAN_LITERAL("");
        expect(NULL, NULL);
}
END_TEST

START_TEST(without_times_nothing_is_said) {
        press(PRESSURE_RESOURCE_IO, 9100);
        basis.elapsed_ns = (Amount){ .known = false };
        expect(NULL, NULL);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("contradiction");
        TCase *all = tcase_create("all");

        tcase_add_checked_fixture(all, setup, teardown);
        tcase_add_test(all, a_host_that_is_full_or_rests_is_no_contradiction);
        tcase_add_test(all, little_waiting_is_no_contradiction);
        tcase_add_test(all, what_threads_ran_is_not_idle);
        tcase_add_test(all, two_share_a_full_cpu);
        tcase_add_test(all, threads_of_one_process_share_a_full_cpu);
        tcase_add_test(all, one_may_use_nothing_but_a_full_cpu);
        tcase_add_test(all, a_quota_comes_first);
        tcase_add_test(all, a_quota_of_others_explains_nothing);
        tcase_add_test(all, who_ended_waited_too);
        tcase_add_test(all, a_class_or_nice_may_be_the_reason);
        tcase_add_test(all, pressure_that_groups_explain_is_none);
        tcase_add_test(all, each_resource_has_waits_of_its_own);
        tcase_add_test(all, who_is_stuck_is_named);
        tcase_add_test(all, who_waits_for_a_ring_is_named);
        tcase_add_test(all, limits_of_version_1_are_not_known);
        tcase_add_test(all, memory_may_be_limited_where_a_process_reads_anew);
        tcase_add_test(all, without_times_nothing_is_said);
        suite_add_tcase(suite, all);
        return check_main(suite);
}
