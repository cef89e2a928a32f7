/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdint.h>
#include <stdio.h>

#include "document.h"

/*
 * A thread as the prior tool writes it: all of its members, numbers counted up from @base so that
 * no two are equal. @extra goes behind the last one.
 */
typedef struct OldThread {
        unsigned tid, tgid;
        const char *comm, *cgroup, *policy, *state, *affinity, *smaps_key, *smaps, *extra;
        uint64_t base;
} OldThread;

static const OldThread plain = {
        .tid = 11,
        .tgid = 10,
        .comm = "w\\u00e4rker",
        .cgroup = "/a.slice",
        .policy = "SCHED_OTHER",
        .state = "S",
        .affinity = "[0,1,2,3,7,9,10]",
        .smaps_key = "smaps_rollup_kb",
        .smaps = "{}",
        .extra = "",
        .base = 1000,
};

static void append(Buffer *buffer, const char *text) {
        ck_assert_int_eq(buffer_append_text(buffer, text), 0);
}

static void append_thread(Buffer *buffer, const OldThread *thread) {
        ck_assert_int_eq(
                buffer_append_format(buffer,
                                     "{\"tid\":%u,\"tgid\":%u,\"pcomm\":\"proc\",\"comm\":\"%s\","
                                     "\"cgroup\":\"%s\",\"start_time_clock_ticks\":77,"
                                     "\"policy\":\"%s\",\"nice\":-5,\"cpu_affinity\":%s,"
                                     "\"processor\":-1,\"state\":\"%s\",\"ext_enabled\":false",
                                     thread->tid, thread->tgid, thread->comm, thread->cgroup,
                                     thread->policy, thread->affinity, thread->state),
                0);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];

                /* No accounting section in version 0; the words and the set stand above. */
                if (id == METRIC_thread_count || id == METRIC_nice || id == METRIC_processor ||
                    metric->section == METRIC_SECTION_TASKSTATS_ACCOUNTING ||
                    metric->kind == METRIC_KIND_WORD || metric->kind == METRIC_KIND_CPUS)
                        continue;
                ck_assert_int_eq(buffer_append_format(buffer, ",\"%s\":%llu", metric->name,
                                                      (unsigned long long) (thread->base + id)),
                                 0);
        }
        ck_assert_int_eq(buffer_append_format(buffer, ",\"%s\":%s%s}", thread->smaps_key,
                                              thread->smaps, thread->extra),
                         0);
}

static Visited *read_threads(const OldThread *threads, size_t n_threads, int expected) {
        Visited *visited;
        Buffer document;

        buffer_init(&document, 0);
        append(&document, "{\"captured_at_unix_ns\":123,\"host\":{\"total_memory_kb\":1,"
                          "\"kernel_release\":\"5.10\"},\"threads\":[");
        for (size_t i = 0; i < n_threads; i++) {
                append(&document, i > 0 ? "," : "");
                append_thread(&document, &threads[i]);
        }
        append(&document, "],\"cgroup_stats\":{\"/a.slice\":{\"cpu\":{\"max_quota_us\":null},"
                          "\"memory\":{\"low\":18446744073709551615}}},"
                          "\"probe_summary\":null,\"parse_summary\":{\"tids_walked\":2},"
                          "\"taskstats_summary\":null,\"psi\":{\"cpu\":{}},\"sched_ext\":null}");
        ck_assert_msg(document_read(buffer_span(&document), &visited) == expected, "%s",
                      visited->complaint);
        buffer_done(&document);
        return visited;
}

START_TEST(a_document_of_the_prior_tool_is_read_whole) {
        OldThread threads[] = { plain, plain };
        const ThreadSample *sample;
        Visited *visited;

        threads[1].tid = 10;
        threads[1].smaps = "{\"Rss\":5,\"Pss\":4}";
        visited = read_threads(threads, ELEMENTSOF(threads), SNAPSHOT_OK);
        ck_assert_uint_eq(visited->version, 0);
        ck_assert_uint_eq(visited->captured_ns, 123);
        ck_assert_uint_eq(visited->n_read_threads, 2);
        ck_assert_uint_eq(visited->n_read_processes, 1);
        ck_assert_str_eq(visited->order, "httcp");
        ck_assert(span_is(visited->stats[0], "{\"cpu\":{\"max_quota_us\":null},"
                                             "\"memory\":{\"low\":18446744073709551615}}"));

        sample = &visited->samples[0];
        ck_assert_int_eq(sample->tid, 11);
        ck_assert_int_eq(sample->tgid, 10);
        ck_assert_uint_eq(sample->start_ticks, 77);
        ck_assert(span_is(sample->pcomm, "proc"));
        ck_assert(span_is(sample->comm, "w\xc3\xa4rker"));
        ck_assert(span_is(sample->cgroup, "/a.slice"));
        ck_assert(span_is(sample->cpus, "0-3,7,9-10"));
        ck_assert_uint_eq(thread_sample_get(sample, METRIC_cpu_affinity), 7);
        ck_assert_uint_eq(thread_sample_get(sample, METRIC_state), 'S');
        ck_assert_uint_eq(thread_sample_get(sample, METRIC_ext_enabled), 0);
        ck_assert_int_eq((int64_t) thread_sample_get(sample, METRIC_nice), -5);
        ck_assert_int_eq((int64_t) thread_sample_get(sample, METRIC_processor), -1);
        ck_assert(!sample->has_ppid && !sample->has_owner && !sample->has_kthread);
        ck_assert(span_is(visited->smaps[1], "{\"Rss\":5,\"Pss\":4}"));
        ck_assert_uint_eq(visited->smaps[0].n, 0);
        visited_free(visited);
}
END_TEST

START_TEST(all_metrics_of_version_0_arrive_and_no_others) {
        OldThread leader = plain;
        Visited *visited;

        leader.tid = leader.tgid;
        visited = read_threads(&leader, 1, SNAPSHOT_OK);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                const ThreadSample *sample = &visited->samples[0];

                ck_assert_int_eq(thread_sample_has(sample, (MetricId) id),
                                 metric->section != METRIC_SECTION_TASKSTATS_ACCOUNTING);
                if (metric->kind == METRIC_KIND_COUNTER && id != METRIC_thread_count &&
                    thread_sample_has(sample, (MetricId) id))
                        ck_assert_uint_eq(thread_sample_get(sample, (MetricId) id),
                                          leader.base + id);
        }
        visited_free(visited);
}
END_TEST

START_TEST(what_stood_for_unknown_is_absent) {
        OldThread thread = plain;
        const ThreadSample *sample;
        Visited *visited;

        thread.policy = "";
        thread.state = "~";
        thread.affinity = "[]";
        thread.cgroup = "";
        thread.comm = "";
        visited = read_threads(&thread, 1, SNAPSHOT_OK);
        sample = &visited->samples[0];
        ck_assert(!thread_sample_has(sample, METRIC_policy));
        ck_assert(!thread_sample_has(sample, METRIC_state));
        ck_assert(!thread_sample_has(sample, METRIC_cpu_affinity));
        ck_assert_ptr_null(sample->cgroup.bytes);
        ck_assert_ptr_null(sample->cpus.bytes);
        ck_assert_uint_eq(sample->comm.n, 0);
        ck_assert(!thread_sample_has(sample, METRIC_nr_threads)); /* the leader alone has it */
        ck_assert(thread_sample_has(sample, METRIC_run_time_ns));
        visited_free(visited);
}
END_TEST

static const struct {
        const char *flag;
        unsigned n_absent; /* of the metrics of version 0 */
        MetricId absent, present;
} flag_rows[] = {
        { "taskstats_measured", 34, METRIC_hiwater_vm_bytes, METRIC_run_time_ns },
        { "cpu_delay_active", 4, METRIC_cpu_delay_min_ns, METRIC_blkio_delay_count },
        { "delay_block_active", 28, METRIC_irq_delay_max_ns, METRIC_cpu_delay_count },
        { "xacct_active", 2, METRIC_hiwater_rss_bytes, METRIC_cpu_delay_count },
        { "jemalloc_measured", 2, METRIC_allocated_bytes, METRIC_minflt },
};

static unsigned count_absent(const ThreadSample *sample) {
        unsigned n = 0;

        for (unsigned id = 0; id < _METRIC_MAX; id++)
                n += metric_table[id].section != METRIC_SECTION_TASKSTATS_ACCOUNTING &&
                     !thread_sample_has(sample, (MetricId) id);
        return n;
}

START_TEST(families_that_were_not_measured_are_absent) {
        char no[64], yes[64];
        OldThread threads[] = { plain, plain };
        Visited *visited;

        (void) snprintf(no, sizeof(no), ",\"%s\":false", flag_rows[_i].flag);
        (void) snprintf(yes, sizeof(yes), ",\"%s\":true", flag_rows[_i].flag);
        threads[0].tid = threads[0].tgid;
        threads[0].extra = no;
        threads[1].tid = threads[1].tgid;
        threads[1].extra = yes;
        visited = read_threads(threads, 2, SNAPSHOT_OK);
        ck_assert_uint_eq(count_absent(&visited->samples[0]), flag_rows[_i].n_absent);
        ck_assert(!thread_sample_has(&visited->samples[0], flag_rows[_i].absent));
        ck_assert(thread_sample_has(&visited->samples[0], flag_rows[_i].present));
        /* The flag of one thread is not that of the next. */
        ck_assert_uint_eq(count_absent(&visited->samples[1]), 0);
        visited_free(visited);
}
END_TEST

START_TEST(both_generations_of_names_are_read) {
        OldThread threads[] = { plain, plain, plain, plain, plain };
        Visited *visited;

        threads[0].smaps = threads[1].smaps = threads[3].smaps = "{\"Rss\":1}";
        threads[1].smaps_key = "smaps_rollup_kib";
        threads[2].extra = ",\"sleep_sum\":1,\"delayacct_blkio_ticks\":2.5,\"x\":{\"y\":[]}";
        /* A file for all versions has both names. */
        threads[3].extra = ",\"smaps_rollup_kib\":{\"Rss\":1}";
        threads[4].extra = ",\"smaps_rollup_kib\":{}";
        visited = read_threads(threads, 5, SNAPSHOT_OK);
        ck_assert(span_is(visited->smaps[0], "{\"Rss\":1}"));
        ck_assert(span_is(visited->smaps[1], "{\"Rss\":1}"));
        ck_assert_uint_eq(visited->smaps[2].n, 0);
        ck_assert(span_is(visited->smaps[3], "{\"Rss\":1}"));
        ck_assert_uint_eq(visited->smaps[4].n, 0);
        visited_free(visited);
}
END_TEST

START_TEST(a_lone_cpu_and_a_whole_range_are_lists) {
        OldThread threads[] = { plain, plain };
        Visited *visited;

        threads[0].affinity = "[65535]";
        threads[1].affinity = "[0,1]";
        visited = read_threads(threads, 2, SNAPSHOT_OK);
        ck_assert(span_is(visited->samples[0].cpus, "65535"));
        ck_assert(span_is(visited->samples[1].cpus, "0-1"));
        visited_free(visited);
}
END_TEST

START_TEST(members_may_be_missing_and_stand_in_any_order) {
        static const char document[] =
                "{\"threads\":[{\"utime_clock_ticks\":5,\"tgid\":1,\"start_time_clock_ticks\":0,"
                "\"tid\":1},{\"tid\":2,\"tgid\":1,\"start_time_clock_ticks\":0}]}";
        Visited *visited;

        ck_assert_int_eq(document_read(SPAN_LITERAL(document), &visited), SNAPSHOT_OK);
        ck_assert_uint_eq(thread_sample_get(&visited->samples[0], METRIC_utime_clock_ticks), 5);
        ck_assert(!thread_sample_has(&visited->samples[0], METRIC_run_time_ns));
        ck_assert(!thread_sample_has(&visited->samples[1], METRIC_utime_clock_ticks));
        ck_assert_uint_eq(visited->captured_ns, 0);
        visited_free(visited);
}
END_TEST

/*
 * The columns of an object are remembered for the next one. That must not mix up objects with other
 * members, nor take over what an object elsewhere at their depth had.
 */
START_TEST(objects_with_other_members_are_read_by_name) {
        static const char document[] =
                "{\"host\":{\"sched_tunables\":{\"tid\":\"1\",\"tgid\":\"2\",\"majflt\":\"3\"}},"
                "\"threads\":["
                "{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0,\"minflt\":5,\"x\":[],"
                "\"rchar\":6},"
                "{\"tid\":2,\"tgid\":1,\"start_time_clock_ticks\":0,\"minflt\":5,\"x\":[],"
                "\"rchar\":6},"
                "{\"tid\":3,\"tgid\":1,\"start_time_clock_ticks\":0},"
                "{\"tid\":4,\"tgid\":1,\"start_time_clock_ticks\":0,\"x\":[],\"rchar\":6,"
                "\"minflt\":5},"
                "{\"tid\":5,\"tgid\":1,\"start_time_clock_ticks\":0,\"x\":{},\"minflt\":5,"
                "\"rchar\":6},"
                "{\"rchar\":6,\"minflt\":5,\"tid\":6,\"tgid\":1,\"start_time_clock_ticks\":0}]}";
        Visited *visited;

        ck_assert_int_eq(document_read(SPAN_LITERAL(document), &visited), SNAPSHOT_OK);
        ck_assert_uint_eq(visited->n_threads, 6);
        for (unsigned i = 0; i < 6; i++) {
                const ThreadSample *sample = &visited->samples[i];

                ck_assert_int_eq(sample->tid, (pid_t) i + 1);
                ck_assert_int_eq(thread_sample_has(sample, METRIC_minflt), i != 2);
                ck_assert_int_eq(thread_sample_has(sample, METRIC_rchar), i != 2);
                ck_assert(!thread_sample_has(sample, METRIC_majflt));
                if (i == 2)
                        continue;
                ck_assert_uint_eq(thread_sample_get(sample, METRIC_minflt), 5);
                ck_assert_uint_eq(thread_sample_get(sample, METRIC_rchar), 6);
        }
        visited_free(visited);
}
END_TEST

/* Members that are not given are the ones of the plain thread. */
static const OldThread malformed_rows[] = {
        { .policy = "FIFO" },
        { .state = "" },
        { .affinity = "[1,0]" },
        { .affinity = "[1,1]" },
        { .affinity = "[-1]" },
        { .affinity = "[65536]" },
        { .affinity = "[\"0\"]" },
        { .affinity = "[[0]]" },
        { .affinity = "\"0\"" },
        { .smaps = "[]" },
        { .smaps = "{\"Rss\":18446744073709551616}" },
        { .extra = ",\"smaps_rollup_kib\":{\"Rss\":1}" },
        { .extra = ",\"smaps_rollup_kib\":[]" },
        { .extra = ",\"tid\":1" },
        { .extra = ",\"taskstats_measured\":0" },
        { .extra = ",\"x\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]" },
};

START_TEST(malformed_threads_are_refused) {
        const OldThread *row = &malformed_rows[_i];
        OldThread thread = plain;
        Visited *visited;

        thread.policy = row->policy ? row->policy : thread.policy;
        thread.state = row->state ? row->state : thread.state;
        thread.affinity = row->affinity ? row->affinity : thread.affinity;
        thread.smaps = row->smaps ? row->smaps : thread.smaps;
        thread.extra = row->extra ? row->extra : thread.extra;
        visited = read_threads(&thread, 1, SNAPSHOT_E_MALFORMED);
        ck_assert_str_ne(visited->complaint, "");
        ck_assert_uint_eq(visited->n_threads, 0);
        visited_free(visited);
}
END_TEST

static const char *const malformed_documents[] = {
        "{\"threads\":[[]]}",
        "{\"threads\":[1]}",
        "{\"threads\":[{}]}",
        "{\"threads\":[{\"tid\":1,\"tgid\":1}]}",
        "{\"threads\":[{\"tid\":0,\"tgid\":1,\"start_time_clock_ticks\":0}]}",
        "{\"threads\":[{\"tid\":1,\"tgid\":2147483648,\"start_time_clock_ticks\":0}]}",
        "{\"threads\":[{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0,\"minflt\":-1}]}",
        "{\"threads\":[{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0,\"minflt\":1.0}]}",
        "{\"threads\":[{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0,\"comm\":[]}]}",
        "{\"threads\":[{\"tid\":1,\"tgid\":1,\"start_time_clock_ticks\":0}}",
};

START_TEST(malformed_lists_are_refused) {
        Visited *visited;

        ck_assert_int_eq(document_read(span_of(malformed_documents[_i]), &visited),
                         SNAPSHOT_E_MALFORMED);
        visited_free(visited);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("version-0");
        TCase *read = tcase_create("read"), *malformed = tcase_create("malformed");

        tcase_add_test(read, a_document_of_the_prior_tool_is_read_whole);
        tcase_add_test(read, all_metrics_of_version_0_arrive_and_no_others);
        tcase_add_test(read, what_stood_for_unknown_is_absent);
        tcase_add_loop_test(read, families_that_were_not_measured_are_absent, 0,
                            ELEMENTSOF(flag_rows));
        tcase_add_test(read, both_generations_of_names_are_read);
        tcase_add_test(read, a_lone_cpu_and_a_whole_range_are_lists);
        tcase_add_test(read, members_may_be_missing_and_stand_in_any_order);
        tcase_add_test(read, objects_with_other_members_are_read_by_name);
        suite_add_tcase(suite, read);
        tcase_add_loop_test(malformed, malformed_threads_are_refused, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_loop_test(malformed, malformed_lists_are_refused, 0,
                            ELEMENTSOF(malformed_documents));
        suite_add_tcase(suite, malformed);
        return check_main(suite);
}
