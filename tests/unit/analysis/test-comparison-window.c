/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"
#include "wire/limits.h"

#define END (const char *) NULL
#define ABSENT UINT64_MAX /* no value */
#define HALF (UINT64_C(1) << 63)

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const SideSetup one_boot = { .n_sides = 2,
                                    .boots = BOOTS_SAME,
                                    .elapsed_ns = 2 * NSEC_PER_SEC };

/* A thread: its name and run time on each side; the name is NULL where it does not exist. */
typedef struct Life {
        pid_t tid;
        const char *before_name;
        uint64_t before;
        const char *after_name;
        uint64_t after;
} Life;

#define MAX_LIVES 10

typedef struct Made {
        ThreadSample before[MAX_LIVES], after[MAX_LIVES];
        Threads sides[2];
} Made;

static void add(Threads *threads, ThreadSample *samples, const char *name, pid_t tid,
                uint64_t run_time_ns) {
        ThreadSample *sample = &samples[threads->n];

        if (!name)
                return;
        *sample = thread_of(name, name, tid);
        sample->cgroup = span_of(name[0] == '/' ? name : "/");
        thread_sample_put(sample, METRIC_nice, 3);
        if (run_time_ns != ABSENT)
                thread_sample_put(sample, METRIC_run_time_ns, run_time_ns);
        threads->samples = samples;
        threads->n++;
}

static void make(const Life *lives, Made *ret) {
        *ret = (Made){ .sides = { { .n = 0 }, { .n = 0 } } };
        for (unsigned i = 0; i < MAX_LIVES && lives[i].tid > 0; i++) {
                add(&ret->sides[0], ret->before, lives[i].before_name, lives[i].tid,
                    lives[i].before);
                add(&ret->sides[1], ret->after, lives[i].after_name, lives[i].tid, lives[i].after);
        }
}

static View window_by(ViewAxis axis) {
        View view;

        view_init(&view);
        view.axis = axis;
        view.window = true;
        view.thread_normalize = view.cgroup_normalize = false;
        return view;
}

static Compared window_of(const View *view, const Life *lives) {
        Made made;

        make(lives, &made);
        return compared_window_of(view, &one_boot, made.sides, no_sources);
}

/* One group "p" and the expected figures of its run time. */
static const struct {
        const char *what;
        Life lives[MAX_LIVES];
        const char *counts;   /* survived, born, ended, threadsBefore, threadsAfter */
        const char *run_time; /* before, after, delta, work, percent, reset, leftOut */
} sum_rows[] = {
        { "survivors do work",
          { { 1, "p", 10, "p", 15 }, { 2, "p", 30, "p", 30 } },
          "2 0 0 2 2",
          "40 45 5 5 12.5 false 0" },
        { "a pool that shrank did no negative work",
          { { 1, "p", 10, "p", 15 }, { 2, "p", 1000, NULL, 0 }, { 3, "p", 2000, NULL, 0 } },
          "1 0 2 3 1",
          "10 15 5 5 50 false 0" },
        { "a thread that was born began at 0",
          { { 1, "p", 10, "p", 15 }, { 2, NULL, 0, "p", 7 } },
          "1 1 0 1 2",
          "10 22 12 12 120 false 0" },
        { "growth from nothing has no percent",
          { { 1, NULL, 0, "p", 5 }, { 2, NULL, 0, "p", 7 } },
          "0 2 0 0 2",
          "0 12 12 12 null false 0" },
        { "some gone and all others born",
          { { 1, "p", 500, NULL, 0 }, { 2, NULL, 0, "p", 7 } },
          "0 1 1 1 1",
          "0 7 7 7 null false 0" },
        { "a counter that fell is a reset, and the sum is exact",
          { { 1, "p", 10, "p", 4 }, { 2, "p", 10, "p", 30 } },
          "2 0 0 2 2",
          "20 34 14 20 null true 0" },
        { "even where the sum falls",
          { { 1, "p", 10, "p", 4 } },
          "1 0 0 1 1",
          "10 4 -6 null null true 0" },
        { "a value on one side only takes no part",
          { { 1, "p", 10, "p", 15 }, { 2, "p", ABSENT, "p", 900 }, { 3, "p", 900, "p", ABSENT } },
          "3 0 0 3 3",
          "10 15 5 5 50 false 2" },
        { "without any pair of values there is no sum",
          { { 1, "p", ABSENT, "p", 900 } },
          "1 0 0 1 1",
          "null null null null null false 1" },
        { "a thread that was born without a value is just absent",
          { { 1, "p", 10, "p", 15 }, { 2, NULL, 0, "p", ABSENT } },
          "1 1 0 1 2",
          "10 15 5 5 50 false 0" },
        { "threads that changed their name are where they are now",
          { { 1, "q", 10, "p", 15 } },
          "1 0 0 1 1",
          "10 15 5 5 50 false 0" },
        { "large sums are exact",
          { { 1, "p", UINT64_C(9007199254740993), "p", UINT64_C(9007199254740996) } },
          "1 0 0 1 1",
          "9007199254740993 9007199254740996 3 3 * false 0" },
        { "what was done below a sum at its limit is not known",
          { { 1, "p", HALF, "p", HALF + 5 }, { 2, "p", HALF, "p", HALF + 7 } },
          "2 0 0 2 2",
          "18446744073709551615 18446744073709551615 null null null false 0" },
        { "nor when the sum has left it",
          { { 1, "p", HALF, "p", 10 }, { 2, "p", HALF, "p", HALF + 5 } },
          "2 0 0 2 2",
          "18446744073709551615 9223372036854775823 null null null true 0" },
};

static void append(char *text, const char *part) {
        (void) snprintf(text + strlen(text), 256 - strlen(text), "%s%s", text[0] ? " " : "", part);
}

START_TEST(sums_tell_work) {
        static const char *const lives[] = { "survived", "born", "ended" };
        static const char *const counts[] = { "threadsBefore", "threadsAfter" };
        static const char *const members[] = { "before",  "after", "delta",  "work",
                                               "percent", "reset", "leftOut" };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared = window_of(&view, sum_rows[_i].lives);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");
        char text[256] = "", run_time[256] = "";

        ck_assert_ptr_nonnull(group);
        for (unsigned i = 0; i < ELEMENTSOF(lives); i++)
                append(text, json_at(group, "lives", lives[i], END));
        for (unsigned i = 0; i < ELEMENTSOF(counts); i++)
                append(text, json_at(group, counts[i], END));
        ck_assert_str_eq(json_at(group, "lives", "bornAndEnded", END), "null");
        ck_assert_msg(strcmp(text, sum_rows[_i].counts) == 0, "%s: %s", sum_rows[_i].what, text);
        for (unsigned i = 0; i < ELEMENTSOF(members); i++) {
                const char *value = json_at(group, "metrics", "run_time_ns", members[i], END);
                bool any = i == 4 && strstr(sum_rows[_i].run_time, "*");

                if (strncmp(value, "50.0", 5) == 0)
                        value = "50";
                if (strncmp(value, "120.0", 6) == 0)
                        value = "120";
                append(run_time, any ? "*" : value);
        }
        ck_assert_msg(strcmp(run_time, sum_rows[_i].run_time) == 0, "%s: %s", sum_rows[_i].what,
                      run_time);
        /* There is nothing else. */
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 1);
        for (unsigned list = COMPARISON_ONLY_BEFORE; list <= COMPARISON_ONLY_AFTER; list++)
                ck_assert_uint_eq(json_object_array_length(compared.lists[list]), 0);
        compared_done(&compared);
}
END_TEST

START_TEST(thread_count_and_other_rules_are_of_all_threads) {
        static const Life lives[MAX_LIVES] = { { 1, "p", 1, "p", 1 },
                                               { 2, "p", 1, NULL, 0 },
                                               { 3, "p", 1, NULL, 0 },
                                               { 4, NULL, 0, "p", 1 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared;
        json_object *metrics;
        Made made;

        make(lives, &made);
        thread_sample_put(&made.before[1], METRIC_nice, (uint64_t) -7); /* gone, but counted */
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        metrics = json_object_object_get(compared_group(&compared, COMPARISON_GROUPS, "p"),
                                         "metrics");
        ck_assert_str_eq(json_at(metrics, "thread_count", "before", END), "3");
        ck_assert_str_eq(json_at(metrics, "thread_count", "after", END), "2");
        ck_assert_str_eq(json_at(metrics, "thread_count", "delta", END), "-1");
        ck_assert_str_eq(json_at(metrics, "thread_count", "perSecond", END), "null");
        ck_assert_str_eq(json_at(metrics, "thread_count", "reset", END), "false");
        ck_assert_str_eq(json_at(metrics, "nice", "before", END), "{\"min\":-7,\"max\":3}");
        ck_assert_str_eq(json_at(metrics, "nice", "after", END), "{\"min\":3,\"max\":3}");
        compared_done(&compared);
}
END_TEST

static void run_with(ThreadSample *sample, uint64_t policy, const char *cpus) {
        thread_sample_put(sample, METRIC_policy, policy);
        thread_sample_put(sample, METRIC_cpu_affinity, strlen(cpus) > 1 ? 4 : 1);
        sample->cpus = span_of(cpus);
}

#define CHANGE(name, what, before, after)                                 \
        "{\"key\":\"" name "\",\"process\":\"" name "\",\"what\":\"" what \
        "\",\"before\":\"" before "\",\"after\":\"" after "\"}"

/* One thread of a group alone is none of its changes. */
START_TEST(what_whole_groups_run_with_is_told_where_it_changed) {
        static const Life lives[MAX_LIVES] = {
                { 1, "fifo", 1, "fifo", 1 },
                { 2, "fifo", 1, "fifo", 1 },
                { 3, "pin", 1, "pin", 1 },
                { 4, "part", 1, "part", 1 },
                { 5, "part", 1, "part", 1 },
                { 6, "gone", 1, NULL, 0 },
                { 7, NULL, 0, "born", 1 },
                { 8, "same", 1, "same", 1 },
                { 9, "kworker/0:1", 1, "kworker/0:1", 1 },
                { 10, "kworker/user", 1, "kworker/user", 1 },
        };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared;
        JsonWriter writer;
        Made made;

        make(lives, &made);
        for (size_t i = 0; i < made.sides[0].n; i++)
                run_with(&made.before[i], 0, "0-3");
        for (size_t i = 0; i < made.sides[1].n; i++)
                run_with(&made.after[i], 0, "0-3");
        run_with(&made.after[0], 1, "0-3");
        run_with(&made.after[1], 1, "0-3");
        run_with(&made.after[2], 1, "2");
        run_with(&made.after[3], 1, "2");
        run_with(&made.before[6], 0, "0-7"); /* of more CPUs than there are */
        /* the kernel moves its own workers; what has memory is none of them */
        run_with(&made.after[7], 0, "1");
        run_with(&made.after[8], 0, "1");
        for (size_t i = 0; i < SIDES; i++)
                thread_sample_put(i == 0 ? &made.before[8] : &made.after[8], METRIC_rss_anon_bytes,
                                  4096);
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        compared.comparison->table.columns.of[0].host = (HostUse){ .n_cpus = amount_of(4) };
        json_write_array(json_text_begin(&writer));
        ck_assert_int_eq(comparison_write_changes(compared.comparison, &writer), 0);
        json_write_end(&writer);
        ck_assert_str_eq(json_text_end(&writer),
                         "[" CHANGE("fifo", "policy", "SCHED_OTHER", "SCHED_FIFO") "," CHANGE(
                                 "kworker/user", "cpu_affinity", "0-3",
                                 "1") "," CHANGE("pin", "policy", "SCHED_OTHER",
                                                 "SCHED_FIFO") "," CHANGE("pin", "cpu_affinity",
                                                                          "0-3", "2") "]");
        compared_done(&compared);
}
END_TEST

/* A name may be in the key, too, and each of its bytes may take six. */
START_TEST(changes_of_groups_with_long_names_are_told_up_to_a_bound) {
        enum { N_NAME = 4000 };
        static char names[MAX_LIVES][N_NAME + 1];
        View view = window_by(VIEW_AXIS_CGROUP);
        Life lives[MAX_LIVES] = {};
        Compared compared;
        JsonWriter writer;
        size_t n;
        Made made;

        for (unsigned i = 0; i < MAX_LIVES; i++) {
                memset(names[i], '\1', N_NAME);
                names[i][0] = '/';
                names[i][1] = (char) ('a' + i);
                lives[i] = (Life){ (pid_t) i + 1, names[i], 1, names[i], 1 };
        }
        make(lives, &made);
        for (unsigned i = 0; i < MAX_LIVES; i++) {
                run_with(&made.before[i], 0, "0-3");
                run_with(&made.after[i], 1, "2");
        }
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        json_write_array(json_text_begin(&writer));
        ck_assert_int_eq(comparison_write_changes(compared.comparison, &writer), 0);
        json_write_end(&writer);
        n = strlen(json_text_end(&writer));
        ck_assert_uint_gt(n, LIMIT_BATCH_BYTES);
        ck_assert_uint_lt(n, LIMIT_BATCH_BYTES + 2 * (2 * 6 * N_NAME + 200));
        compared_done(&compared);
}
END_TEST

START_TEST(a_group_that_was_born_has_no_past_but_sums) {
        static const Life lives[MAX_LIVES] = { { 1, NULL, 0, "p", 5 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared = window_of(&view, lives);
        json_object *metrics = json_object_object_get(
                compared_group(&compared, COMPARISON_GROUPS, "p"), "metrics");

        ck_assert_str_eq(json_at(metrics, "nice", "before", END), "null");
        ck_assert_str_eq(json_at(metrics, "nice", "reason", END),
                         "\"before: all of these threads started after the first snapshot\"");
        ck_assert_str_eq(json_at(metrics, "thread_count", "before", END), "0");
        ck_assert_str_eq(json_at(metrics, "run_time_ns", "perSecond", END), "2.5");
        ck_assert_str_eq(json_at(metrics, "rchar", "before", END), "null");
        compared_done(&compared);
}
END_TEST

/* What is listed of a group with changed_only, and whether it is. */
static const struct {
        MetricId id;
        uint64_t value;
        bool tells;
} newborn_rows[] = {
        { METRIC_rchar, 4096, true },
        { METRIC_rchar, 0, false },
        { METRIC_wait_max, 7, true },
        { METRIC_wait_max, 0, false },
        { METRIC_hiwater_rss_bytes, 4096, true },
        { METRIC_rss_anon_bytes, 4096, true },
        { METRIC_swap_bytes, 0, false },
        { METRIC_nice, 0, false },
        { METRIC_nice, (uint64_t) -5, true },
        { METRIC_rt_priority, 0, false },
        { METRIC_rt_priority, 50, true },
        { METRIC_priority, 20, false },
        { METRIC_processor, 1, false },
        { METRIC_nr_threads, 3, false },
        { METRIC_fair_slice_ns, 3000000, false },
        { METRIC_policy, 0, false },
        { METRIC_policy, 1, true },
};

static bool lists(const Compared *compared, const char *kind, const char *name) {
        return json_at(compared_group(compared, COMPARISON_GROUPS, "p"), kind, name, END)[0] !=
               '\0';
}

START_TEST(a_group_that_was_born_lists_what_it_did) {
        static const Life lives[MAX_LIVES] = { { 100, NULL, 0, "p", 5 } }; /* a process */
        const char *name = metric_table[newborn_rows[_i].id].name;
        View view = window_by(VIEW_AXIS_PCOMM);
        char complaint[VIEW_COMPLAINT_BYTES];
        Compared compared;
        Made made;

        make(lives, &made);
        thread_sample_put(&made.after[0], newborn_rows[_i].id, newborn_rows[_i].value);
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        ck_assert(lists(&compared, "metrics", name)); /* for programs nothing is hidden */
        compared_done(&compared);

        view.changed_only = true;
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        ck_assert(lists(&compared, "metrics", "run_time_ns"));
        ck_assert_msg(lists(&compared, "metrics", name) == newborn_rows[_i].tells, "%s", name);
        compared_done(&compared);

        /* What the view names is there if it is not absent. */
        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("priority"), complaint),
                         VIEW_OK);
        thread_sample_put(&made.after[0], METRIC_priority, 20);
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        ck_assert(lists(&compared, "metrics", "priority"));
        compared_done(&compared);
}
END_TEST

START_TEST(derived_values_of_a_group_that_was_born_are_those_of_its_work) {
        static const Life lives[MAX_LIVES] = { { 1, NULL, 0, "p", 30 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared;
        Made made;

        view.changed_only = true;
        make(lives, &made);
        thread_sample_put(&made.after[0], METRIC_wait_time_ns, 10);
        thread_sample_put(&made.after[0], METRIC_voluntary_csw, 3);
        thread_sample_put(&made.after[0], METRIC_nonvoluntary_csw, 0);
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        ck_assert(lists(&compared, "derived", "cpu_efficiency"));
        ck_assert(!lists(&compared, "derived", "involuntary_csw_ratio")); /* it is 0 */
        ck_assert(!lists(&compared, "derived", "avg_wait_ns"));           /* it is absent */
        ck_assert(!lists(&compared, "metrics", "nonvoluntary_csw"));
        compared_done(&compared);
}
END_TEST

/* A group that lives on tells of each level that moved. */
START_TEST(levels_of_a_group_that_lived_on_are_listed) {
        static const Life lives[MAX_LIVES] = { { 1, "p", 1, "p", 5 }, { 2, NULL, 0, "p", 1 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared;
        Made made;

        view.changed_only = true;
        make(lives, &made);
        thread_sample_put(&made.before[0], METRIC_priority, 39);
        thread_sample_put(&made.after[0], METRIC_priority, 20);
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        ck_assert(lists(&compared, "metrics", "priority"));
        compared_done(&compared);
}
END_TEST

START_TEST(a_group_that_is_gone_is_listed_as_it_stood) {
        static const Life lives[MAX_LIVES] = { { 1, "old", 5, NULL, 0 },
                                               { 2, "old", 6, NULL, 0 },
                                               { 3, "p", 1, "p", 1 },
                                               { 4, NULL, 0, "new", 1 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        Compared compared = window_of(&view, lives);
        json_object *group = compared_group(&compared, COMPARISON_ONLY_BEFORE, "old");

        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "threads", END), "2");
        ck_assert_str_eq(json_at(group, "lives", "ended", END), "2");
        ck_assert_str_eq(json_at(group, "lives", "survived", END), "0");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "value", END), "11");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "present", END), "2");
        ck_assert_ptr_nonnull(compared_group(&compared, COMPARISON_GROUPS, "new"));
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_AFTER]), 0);
        compared_done(&compared);
}
END_TEST

START_TEST(lives_are_counted_over_all_groups) {
        static const Life lives[MAX_LIVES] = { { 1, "a", 1, "a", 1 },  { 2, "b", 1, "b", 1 },
                                               { 3, "c", 1, NULL, 0 }, { 4, NULL, 0, "d", 1 },
                                               { 5, NULL, 0, "e", 1 }, { 6, NULL, 0, "e", 1 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        char complaint[VIEW_COMPLAINT_BYTES];
        LifeCounts counts;
        Compared compared;

        view.limit = 1;
        ck_assert_int_eq(view_set(&view, VIEW_PART_filter, span_of("a"), complaint), VIEW_OK);
        compared = window_of(&view, lives);
        counts = compared.comparison->table.columns.of[0].lives;
        ck_assert_uint_eq(counts.survived, 2);
        ck_assert_uint_eq(counts.born, 3);
        ck_assert_uint_eq(counts.vanished, 1);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 1);
        compared_done(&compared);
}
END_TEST

START_TEST(why_a_sum_is_missing_is_told) {
        static const struct {
                Life lives[MAX_LIVES];
                const char *reason;
        } rows[] = {
                { { { 1, "p", ABSENT, "p", 5 } },
                  "\"before: not recorded by this file; after: the other snapshot lacks it for "
                  "these threads\"" },
                { { { 1, "p", 5, "p", ABSENT } },
                  "\"before: the other snapshot lacks it for these threads; after: not recorded by "
                  "this file\"" },
                { { { 1, "p", ABSENT, "p", ABSENT } },
                  "\"before and after: not recorded by this file\"" },
                { { { 1, "p", 5, NULL, 0 }, { 2, NULL, 0, "p", ABSENT } },
                  "\"before: only threads that have ended have it; after: not recorded by this "
                  "file\"" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                View view = window_by(VIEW_AXIS_PCOMM);
                Compared compared = window_of(&view, rows[i].lives);
                json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

                ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "delta", END), "null");
                ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "reason", END),
                                 rows[i].reason);
                compared_done(&compared);
        }
}
END_TEST

START_TEST(a_life_is_ours_when_either_side_says_so) {
        for (unsigned side = 0; side < 2; side++) {
                static const Life lives[MAX_LIVES] = { { 1, "p", 1, "p", 1 },
                                                       { 2, "p", 1, "p", 9 } };
                View view = window_by(VIEW_AXIS_PCOMM);
                Compared compared;
                Made made;

                make(lives, &made);
                (side == 0 ? made.before : made.after)[1].self = true;
                compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
                ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.survived, 1);
                compared_done(&compared);
                view.self = true;
                compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
                ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.survived, 2);
                compared_done(&compared);
        }
}
END_TEST

/*
 * Accounting of a thread that had no delay when the first snapshot was taken: the capture could not
 * tell whether the thread is accounted at all, and left its zeros out.
 */
static const struct {
        const char *what;
        bool asked_before;   /* taskstats answered for the first snapshot, too */
        uint64_t cpu_before; /* cpu delays of the first snapshot */
        MetricId id;
        const char *figures; /* before, after, delta, leftOut */
} delay_rows[] = {
        { "a first delay is work", true, 7, METRIC_blkio_delay_total_ns, "0 900 900 0" },
        { "even where no cpu delay had been counted", true, 0, METRIC_compact_delay_count,
          "0 900 900 0" },
        { "so is the first time in interrupts", true, 7, METRIC_irq_delay_total_ns, "0 900 900 0" },
        { "a peak has its past", true, 7, METRIC_blkio_delay_max_ns, "0 900 900 null" },
        { "what nobody asked for is not known", false, 0, METRIC_blkio_delay_total_ns,
          "null null null 1" },
        { "another source says nothing of the kind", true, 7, METRIC_rchar, "null null null 1" },
};

START_TEST(first_delays_are_work_of_the_interval) {
        static const char *const members[] = { "before", "after", "delta", "leftOut" };
        static const Life lives[MAX_LIVES] = { { 1, "p", 1, "p", 2 } };
        const char *name = metric_table[delay_rows[_i].id].name;
        View view = window_by(VIEW_AXIS_PCOMM);
        char text[256] = "";
        json_object *entry;
        Compared compared;
        Made made;

        make(lives, &made);
        if (delay_rows[_i].asked_before)
                thread_sample_put(&made.before[0], METRIC_cpu_delay_count,
                                  delay_rows[_i].cpu_before);
        thread_sample_put(&made.after[0], METRIC_cpu_delay_count, 8);
        thread_sample_put(&made.after[0], delay_rows[_i].id, 900);
        view.spread = true;
        compared = compared_window_of(&view, &one_boot, made.sides, no_sources);
        entry = json_object_object_get(
                json_object_object_get(compared_group(&compared, COMPARISON_GROUPS, "p"),
                                       "metrics"),
                name);
        for (unsigned i = 0; i < ELEMENTSOF(members); i++)
                append(text, json_object_object_get_ex(entry, members[i], NULL)
                                     ? json_at(entry, members[i], END)
                                     : "null");
        ck_assert_msg(strcmp(text, delay_rows[_i].figures) == 0, "%s: %s", delay_rows[_i].what,
                      text);
        if (strstr(delay_rows[_i].figures, "900 0"))
                ck_assert_str_eq(json_at(entry, "spread", "p50", END), "900");
        compared_done(&compared);
}
END_TEST

#define S(seconds) ((seconds) *NSEC_PER_SEC)

START_TEST(rows_are_hidden_ordered_and_cut_as_ever) {
        static const Life lives[MAX_LIVES] = { { 1, "idle", 5, "idle", 5 },
                                               { 2, "some", S(1000), "some", S(1100) },
                                               { 3, "much", S(100), "much", S(900) },
                                               { 4, NULL, 0, "new", S(50) } };
        View view = window_by(VIEW_AXIS_PCOMM);
        char complaint[VIEW_COMPLAINT_BYTES];
        json_object *groups;
        Compared compared;

        ck_assert_int_eq(view_set(&view, VIEW_PART_metrics, span_of("run_time_ns"), complaint),
                         VIEW_OK);
        view.changed_only = true;
        view.has_threshold = true;
        view.threshold = 20;
        compared = window_of(&view, lives);
        groups = compared.lists[COMPARISON_GROUPS];
        ck_assert_uint_eq(json_object_array_length(groups), 2);
        ck_assert_str_eq(json_at(json_object_array_get_idx(groups, 0), "key", END), "\"much\"");
        ck_assert_str_eq(json_at(json_object_array_get_idx(groups, 1), "key", END), "\"new\"");
        ck_assert_uint_eq(compared.comparison->n_rows_above_threshold, 2);
        ck_assert_uint_eq(compared.comparison->n_hidden_rows, 2);
        compared_done(&compared);
}
END_TEST

/* A reset has no percent, and a group that ended has no row. Both are shown, so both count. */
START_TEST(resets_and_ended_groups_are_above_every_threshold) {
        static const struct {
                Life lives[MAX_LIVES];
                unsigned n_above;
        } rows[] = {
                { { { 1, "p", 100, "p", 100 } }, 0 },
                { { { 1, "p", 100, "p", 50 } }, 1 },
                { { { 1, "p", 100, "p", 100 }, { 2, "ended", 7, NULL, 0 } }, 1 },
                { { { 1, "p", 100, "p", 50 }, { 2, "ended", 7, NULL, 0 } }, 2 },
        };
        char complaint[VIEW_COMPLAINT_BYTES];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                View view = window_by(VIEW_AXIS_PCOMM);
                Compared compared;

                ck_assert_int_eq(
                        view_set(&view, VIEW_PART_metrics, span_of("run_time_ns"), complaint),
                        VIEW_OK);
                view.has_threshold = true;
                view.threshold = 1e9;
                compared = window_of(&view, rows[i].lives);
                ck_assert_uint_eq(compared.comparison->n_rows_above_threshold, rows[i].n_above);
                compared_done(&compared);
        }
}
END_TEST

START_TEST(every_axis_has_windows) {
        static const Life lives[MAX_LIVES] = { { 1, "/a", 10, "/a", 15 },
                                               { 2, "/a", 10, NULL, 0 },
                                               { 3, "/b", 1, "/a", 3 } };
        static const struct {
                ViewAxis axis;
                const char *key;
                const char *delta, *vanished;
        } rows[] = {
                { VIEW_AXIS_PCOMM, "/a", "7", "1" },
                { VIEW_AXIS_COMM, "/a", "7", "1" },
                { VIEW_AXIS_COMM_EXACT, "/a", "7", "1" },
                { VIEW_AXIS_CGROUP, "/a", "7", "1" },
                { VIEW_AXIS_ALL, "/a\x1f/a\x1f/a", "7", "1" },
                { VIEW_AXIS_THREAD,
                  "0\x1f"
                  "1\x1f"
                  "8\x1f/a\x1f/a",
                  "5", "0" },
                { VIEW_AXIS_THREAD,
                  "0\x1f"
                  "3\x1f"
                  "10\x1f/a\x1f/a",
                  "2", "0" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                View view = window_by(rows[i].axis);
                Compared compared = window_of(&view, lives);
                json_object *group = compared_group(&compared, COMPARISON_GROUPS, rows[i].key);

                ck_assert_msg(group != NULL, "%zu", i);
                ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "delta", END),
                                 rows[i].delta);
                ck_assert_str_eq(json_at(group, "lives", "ended", END), rows[i].vanished);
                compared_done(&compared);
        }
}
END_TEST

START_TEST(a_pool_that_moved_to_another_cgroup_is_paired) {
        static const Life lives[MAX_LIVES] = { { 1, "/old", 1000, NULL, 0 },
                                               { 2, "/old", 1000, NULL, 0 },
                                               { 3, NULL, 0, "/new", 7 } };
        View view = window_by(VIEW_AXIS_CGROUP);
        char complaint[VIEW_COMPLAINT_BYTES];
        json_object *group;
        Compared compared;

        ck_assert_int_eq(view_set(&view, VIEW_PART_pairs, span_of("/old=/new"), complaint),
                         VIEW_OK);
        compared = window_of(&view, lives);
        ck_assert_uint_eq(pairing_n(compared.comparison->table.pairing), 1);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 1);
        group = json_object_array_get_idx(compared.lists[COMPARISON_GROUPS], 0);
        ck_assert_ptr_eq(compared_group(&compared, COMPARISON_GROUPS, "/old"), group);
        ck_assert_str_eq(json_at(group, "lives", "ended", END), "2");
        ck_assert_str_eq(json_at(group, "lives", "born", END), "1");
        ck_assert_str_eq(json_at(group, "threadsBefore", END), "2");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "before", END), "0");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "delta", END), "7");
        compared_done(&compared);
}
END_TEST

START_TEST(the_spread_is_that_of_the_work) {
        static const Life lives[MAX_LIVES] = { { 1, "p", 1000, "p", 1001 },
                                               { 2, "p", 50, "p", 80 },
                                               { 3, "p", 5000, NULL, 0 },
                                               { 4, NULL, 0, "p", 20 },
                                               { 5, "p", 9, "p", 8 } };
        View view = window_by(VIEW_AXIS_PCOMM);
        json_object *row;
        Compared compared;

        view.spread = true;
        compared = window_of(&view, lives);
        row = json_object_object_get(
                json_object_object_get(compared_group(&compared, COMPARISON_GROUPS, "p"),
                                       "metrics"),
                "run_time_ns");
        ck_assert_str_eq(json_at(row, "spread", "top", "tid", END), "2");
        ck_assert_str_eq(json_at(row, "spread", "top", "value", END), "30");
        ck_assert_str_eq(json_at(row, "spread", "p50", END), "20");
        ck_assert_str_eq(json_at(row, "spreadBefore", END), "");
        compared_done(&compared);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison-window");
        TCase *sums = tcase_create("sums"), *groups = tcase_create("groups");

        tcase_add_loop_test(sums, sums_tell_work, 0, ELEMENTSOF(sum_rows));
        tcase_add_test(sums, what_whole_groups_run_with_is_told_where_it_changed);
        tcase_add_test(sums, changes_of_groups_with_long_names_are_told_up_to_a_bound);
        tcase_add_test(sums, thread_count_and_other_rules_are_of_all_threads);
        tcase_add_test(sums, why_a_sum_is_missing_is_told);
        tcase_add_loop_test(sums, first_delays_are_work_of_the_interval, 0, ELEMENTSOF(delay_rows));
        tcase_add_test(sums, the_spread_is_that_of_the_work);
        suite_add_tcase(suite, sums);
        tcase_add_test(groups, a_group_that_was_born_has_no_past_but_sums);
        tcase_add_loop_test(groups, a_group_that_was_born_lists_what_it_did, 0,
                            ELEMENTSOF(newborn_rows));
        tcase_add_test(groups, derived_values_of_a_group_that_was_born_are_those_of_its_work);
        tcase_add_test(groups, levels_of_a_group_that_lived_on_are_listed);
        tcase_add_test(groups, a_group_that_is_gone_is_listed_as_it_stood);
        tcase_add_test(groups, lives_are_counted_over_all_groups);
        tcase_add_test(groups, a_life_is_ours_when_either_side_says_so);
        tcase_add_test(groups, rows_are_hidden_ordered_and_cut_as_ever);
        tcase_add_test(groups, resets_and_ended_groups_are_above_every_threshold);
        tcase_add_test(groups, every_axis_has_windows);
        tcase_add_test(groups, a_pool_that_moved_to_another_cgroup_is_paired);
        suite_add_tcase(suite, groups);
        return check_main(suite);
}
