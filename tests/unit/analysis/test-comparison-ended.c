/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

#define END (const char *) NULL
#define S(seconds) ((uint64_t) (seconds) *NSEC_PER_SEC)
#define TICK_NS (NSEC_PER_SEC / 100)
#define GONE UINT64_MAX       /* not in that snapshot */
#define NONE (UINT64_MAX - 1) /* no value */

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
static const HostUse host = { .n_cpus = { true, 4 } };

/* Captures at 100 s and 110 s that have one ledger. */
static SideSetup setup_of(bool has_ledger) {
        return (SideSetup){
                .n_sides = 2,
                .boots = BOOTS_SAME,
                .elapsed_ns = S(10),
                .times = { { .known = true,
                             .start_ns = S(100),
                             .end_ns = S(101),
                             .tick_ns = TICK_NS },
                           { .known = true,
                             .start_ns = S(110),
                             .end_ns = S(111),
                             .tick_ns = TICK_NS } },
                .has_ledger = { [SIDE_AFTER] = has_ledger },
        };
}

/* A thread that started at 90 s, or at 105 s if the earlier snapshot lacks it. */
typedef struct Life {
        const char *name;
        uint64_t before, after; /* how long it had run */
        uint64_t peak;          /* its longest wait, in both */
} Life;

/* A row of a ledger. */
typedef struct Dead {
        const char *name;
        Side end;
        uint64_t exits, lives_ns, run, young;
        uint64_t peak;
        bool self;
} Dead;

typedef struct Scene {
        const Life *lives;
        size_t n_lives;
        const Dead *exited;
        size_t n_exited;
} Scene;

#define SCENE(lives, exited) ((Scene){ lives, ELEMENTSOF(lives), exited, ELEMENTSOF(exited) })

static void note_kernel(ThreadSample *sample, const char *name) {
        sample->has_kthread = true;
        sample->kthread = strstr(name, "kworker") != NULL;
}

static ThreadSample sample_of(const Life *life, size_t i, uint64_t run) {
        ThreadSample sample = thread_of(life->name, life->name, (pid_t) (100 * (i + 1)));

        note_kernel(&sample, life->name);
        sample.start_ticks = life->before == GONE ? 10500 : 9000;
        if (run < NONE)
                thread_sample_put(&sample, METRIC_run_time_ns, run);
        thread_sample_put(&sample, METRIC_wait_time_ns, 0);
        thread_sample_put(&sample, METRIC_wait_max, life->peak);
        return sample;
}

static ExitedRow row_of(const Dead *exited) {
        ExitedRow row = { .exits = exited->exits,
                          .lives_ns = exited->lives_ns,
                          .young = exited->young,
                          .young_run_ns = exited->young > 0 ? exited->run : 0 };

        row.sample = (ThreadSample){ .pcomm = span_of(exited->name),
                                     .comm = span_of(exited->name),
                                     .cgroup = SPAN_LITERAL("/"),
                                     .self = exited->self };
        note_kernel(&row.sample, exited->name);
        if (exited->run < NONE)
                thread_sample_put(&row.sample, METRIC_run_time_ns, exited->run);
        thread_sample_put(&row.sample, METRIC_wait_time_ns, 0);
        thread_sample_put(&row.sample, METRIC_wait_max, exited->peak);
        return row;
}

static void fold(Comparison *comparison, const Scene *scene, bool has_ledger) {
        /* The rows of one snapshot come when threads of the other are still to come. */
        for (size_t i = 0; i < scene->n_exited && has_ledger; i++) {
                ExitedRow row = row_of(&scene->exited[i]);

                ck_assert_int_eq(
                        column_table_add_ended(&comparison->table, 0, scene->exited[i].end, &row),
                        0);
        }
        for (size_t i = 0; i < scene->n_lives; i++) {
                const Life *life = &scene->lives[i];
                ThreadSample before = sample_of(life, i, life->before);
                ThreadSample after = sample_of(life, i, life->after);

                ck_assert_int_eq(side_setup_add(comparison, 0,
                                                life->before == GONE ? NULL : &before,
                                                life->after == GONE ? NULL : &after),
                                 0);
        }
}

static View view_of(ViewAxis axis) {
        View view;

        view_init(&view);
        view.axis = axis;
        view.thread_normalize = false;
        view.overview = true;
        view.window = true;
        return view;
}

static Compared compared_scene(const Scene *scene, ViewAxis axis, bool has_ledger) {
        SideSetup setup = setup_of(has_ledger);
        Compared compared = { .comparison = NULL };
        View view = view_of(axis);

        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        fold(compared.comparison, scene, has_ledger);
        compared.comparison->table.columns.of[0].host = host;
        compared_end(&compared, no_sources);
        return compared;
}

/* The row of a metric, or a member of it. */
static const char *metric_at(const Compared *compared, const char *key, const char *metric,
                             const char *member) {
        return json_at(compared_group(compared, COMPARISON_GROUPS, key), "metrics", metric, member,
                       END);
}

static json_object *first_account(const Compared *compared, const char *key) {
        return json_object_array_get_idx(
                json_object_object_get(compared_group(compared, COMPARISON_OVERVIEW, key),
                                       "accounts"),
                0);
}

/* A loop of short-lived processes, of which neither snapshot shows one. */
static const Life shell[] = { { "sh", S(1), S(2), 0 } };
static const Dead gzip[] = {
        { "gzip", SIDE_BEFORE, 100, S(6), S(5), 100, 7, false },
        { "gzip", SIDE_AFTER, 400, S(31), S(29), 400, 7, false },
        { "old", SIDE_BEFORE, 3, S(6), S(5), 3, 7, false },
        { "old", SIDE_AFTER, 3, S(6), S(5), 3, 7, false },
};

static const CoverageSpan span; /* nothing is known of it */

START_TEST(who_was_born_and_ended_inside_is_a_group) {
        Scene scene = SCENE(shell, gzip);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "gzip");
        LifeCounts lives = compared.comparison->table.columns.of[0].lives;

        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "threadsBefore", END), "0");
        ck_assert_str_eq(json_at(group, "threadsAfter", END), "0");
        ck_assert_str_eq(json_at(group, "lives", END),
                         "{\"survived\":0,\"born\":0,\"ended\":0,\"bornAndEnded\":300}");
        ck_assert_str_eq(json_at(group, "exits", END), "300");
        ck_assert_str_eq(json_at(group, "births", END), "300");
        ck_assert_str_eq(metric_at(&compared, "gzip", "run_time_ns", "before"), "0");
        ck_assert_str_eq(metric_at(&compared, "gzip", "run_time_ns", "work"), "24000000000");
        ck_assert_str_eq(metric_at(&compared, "gzip", "run_time_ns", "delta"), "24000000000");
        ck_assert_str_eq(metric_at(&compared, "gzip", "run_time_ns", "leftOut"), "0");
        ck_assert_str_eq(metric_at(&compared, "gzip", "thread_count", "after"), "0");
        ck_assert_str_eq(json_at(group, "time", END),
                         "{\"aliveNs\":25000000000,\"runningNs\":24000000000,\"waitingNs\":0,"
                         "\"storageNs\":null,\"blockedNs\":null,\"asleepNs\":1000000000,"
                         "\"exact\":null,\"syncNs\":null,\"reasons\":null,\"reasonsReason\":"
                         "\"none of these threads was counted all the time\"}");
        /* Who ended before the interval is not of it. */
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_OVERVIEW]), 2);
        ck_assert_str_eq(json_at(json_object_array_get_idx(compared.lists[COMPARISON_OVERVIEW], 0),
                                 "key", END),
                         "\"gzip\"");
        ck_assert_str_eq(
                json_at(compared_group(&compared, COMPARISON_OVERVIEW, "gzip"), "only", END), "");
        ck_assert_str_eq(json_at(first_account(&compared, "gzip"), "bornAndEnded", END), "300");
        ck_assert_str_eq(json_at(first_account(&compared, "gzip"), "leftOut", END), "0");
        ck_assert(lives.short_lived.known && lives.short_lived.n == 300 && lives.exits.n == 300);
        compared_done(&compared);
}
END_TEST

START_TEST(without_a_ledger_nobody_knows) {
        static const Life two[] = { { "sh", S(1), S(2), 0 }, { "sh", S(3), GONE, 0 } };
        Scene scene = SCENE(two, gzip);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, false);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "sh");

        ck_assert_str_eq(json_at(group, "lives", "bornAndEnded", END), "null");
        ck_assert_str_eq(json_at(group, "exits", END), "null");
        ck_assert_str_eq(json_at(group, "births", END), "null");
        ck_assert_str_eq(metric_at(&compared, "sh", "run_time_ns", "work"), "1000000000");
        ck_assert_str_eq(json_at(first_account(&compared, "sh"), "leftOut", END), "null");
        ck_assert(!compared.comparison->table.columns.of[0].lives.short_lived.known);
        compared_done(&compared);
}
END_TEST

/* One that lived on, one born, one that is gone, and two that were born and ended. */
static const Life pool[] = {
        { "p", S(10), S(11), 0 },
        { "p", GONE, S(2), 0 },
        { "p", S(4), GONE, 0 },
};

START_TEST(all_four_kinds_of_lives_add_up) {
        /* Vanished threads one lived 13 s, of which 10 before the interval, and ran 6 s in all. */
        static const Dead rows[] = {
                { "p", SIDE_BEFORE, 7, S(70), S(20), 0, 0, false },
                { "p", SIDE_AFTER, 10, S(70 + 13 + 3), S(20 + 6 + 1), 2, 0, false },
        };
        Scene scene = SCENE(pool, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(json_at(group, "lives", END),
                         "{\"survived\":1,\"born\":1,\"ended\":1,\"bornAndEnded\":2}");
        ck_assert_str_eq(json_at(group, "exits", END), "3");
        ck_assert_str_eq(json_at(group, "births", END), "3");
        /* 1 + 2 + (6 - 4) + 1 */
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "before"), "10000000000");
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "after"), "16000000000");
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), "6000000000");
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "approximate"), "");
        /* 10 + 5 + 3 + 3 */
        ck_assert_str_eq(json_at(group, "time", "aliveNs", END), "21000000000");
        compared_done(&compared);
}
END_TEST

START_TEST(a_group_that_ended_as_a_whole_has_its_work) {
        static const Life lives[] = { { "p", S(4), GONE, 0 } };
        static const Dead rows[] = { { "p", SIDE_AFTER, 1, S(13), S(6), 0, 0, false } };
        Scene scene = SCENE(lives, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        json_object *row = compared_group(&compared, COMPARISON_OVERVIEW, "p");

        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), "2000000000");
        ck_assert_str_eq(metric_at(&compared, "p", "thread_count", "before"), "1");
        ck_assert_str_eq(metric_at(&compared, "p", "thread_count", "after"), "0");
        ck_assert_str_eq(metric_at(&compared, "p", "wait_max", "reason"),
                         "\"after: all of these threads have ended\"");
        ck_assert_str_eq(json_at(row, "only", END), "\"before\"");
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_BEFORE]), 0);
        compared_done(&compared);
}
END_TEST

/* A shell's child was seen before it became gzip, and what it had done is with gzip then. */
START_TEST(who_ends_under_another_name_is_said_to) {
        static const Life lives[] = { { "sh", S(10), S(11), 0 }, { "sh", S(3), GONE, 0 } };
        static const Dead rows[] = { { "gzip", SIDE_AFTER, 1, S(13), S(5), 0, 0, false } };
        Scene scene = SCENE(lives, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);

        ck_assert_str_eq(metric_at(&compared, "sh", "run_time_ns", "work"), "1000000000");
        ck_assert_str_eq(metric_at(&compared, "sh", "run_time_ns", "approximate"),
                         "\"after: threads changed their names before they ended: what they did is "
                         "counted under the last ones\"");
        ck_assert_str_eq(json_at(first_account(&compared, "sh"), "leftOut", END), "1");
        ck_assert_str_eq(json_at(first_account(&compared, "sh"), "ended", END), "1");
        ck_assert_str_eq(json_at(first_account(&compared, "sh"), "bornAndEnded", END), "0");
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_GROUPS, "sh"), "exits", END),
                         "0");
        ck_assert_str_eq(metric_at(&compared, "gzip", "run_time_ns", "work"), "5000000000");
        /* Nobody was born and ended, however it looks to the group. */
        ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.short_lived.n, 0);
        compared_done(&compared);
}
END_TEST

/* /proc tells of a worker what it does, and the whole of a long name; the end of both does not. */
START_TEST(workers_of_the_kernel_end_under_their_short_names) {
        static const Life lives[] = {
                { "kworker/2:0-events", S(900), GONE, 0 },
                { "kworker/u8:3+events_unbound", S(50), GONE, 0 },
                { "kworker/R-kvfree_rcu_reclaim", S(3), GONE, 0 },
        };
        static const Dead exited[] = {
                { "kworker/2:0", SIDE_AFTER, 1, S(12), S(901), 0, 0, false },
                { "kworker/u8:3", SIDE_AFTER, 1, S(12), S(52), 0, 0, false },
                { "kworker/R-kvfre", SIDE_AFTER, 1, S(12), S(6), 0, 0, false },
                { "[ended, kworkers folded]", SIDE_AFTER, 1, S(5), S(4), 1, 0, false },
        };
        const Scene scene = SCENE(lives, exited);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);

        for (size_t i = 0; i < ELEMENTSOF(exited); i++)
                ck_assert_str_eq(metric_at(&compared, exited[i].name, "run_time_ns", "work"),
                                 i == 0   ? "1000000000"
                                 : i == 1 ? "2000000000"
                                 : i == 2 ? "3000000000"
                                          : "4000000000");
        compared_done(&compared);
}
END_TEST

/* Two threads ended as p, where the interval had 11 s for each; what they did before is as q. */
static const struct {
        uint64_t lives_ns, run, vanished_run;
        const char *work, *left_out, *alive; /* of p, with 1 s of work of one that lived on */
        bool is_exact;
} brought_rows[] = {
        { S(20), S(20), GONE, "21000000000", "0", "30000000000", true },
        { S(500), S(400), GONE, "1000000000", "2", "10000000000", false },
        /* they slept for most of their lives, so only these prove it */
        { S(500), S(20), GONE, "21000000000", "0", "null", false },
        /* one was seen as p, too; how much of 22 s it ran is booked a second late at most */
        { S(30), S(30), S(7), "24000000000", "0", "30000000000", true },
        { S(30), S(31), S(7), "1000000000", "2", "10000000000", false },
};

START_TEST(more_than_there_was_time_for_is_left_out) {
        const Life lives[] = { { "p", S(10), S(11), 0 },
                               { "p", brought_rows[_i].vanished_run, GONE, 0 } };
        const Dead rows[] = { { "p", SIDE_AFTER, 2, brought_rows[_i].lives_ns, brought_rows[_i].run,
                                1, 0, false } };
        Scene scene = { lives, brought_rows[_i].vanished_run == GONE ? 1 : 2, rows, 1 };
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), brought_rows[_i].work);
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "leftOut"),
                         brought_rows[_i].left_out);
        ck_assert_int_eq(metric_at(&compared, "p", "run_time_ns", "approximate")[0] == '\0',
                         brought_rows[_i].is_exact);
        ck_assert_str_eq(json_at(group, "time", "aliveNs", END), brought_rows[_i].alive);
        compared_done(&compared);
}
END_TEST

START_TEST(a_group_that_is_nothing_but_too_much_says_why) {
        static const Dead rows[] = { { "p", SIDE_AFTER, 2, S(500), S(400), 0, 0, false } };
        Scene scene = { NULL, 0, rows, 1 };
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);

        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), "null");
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "reason"),
                         "\"before and after: threads that ended had been counted under other "
                         "names before\"");
        ck_assert_str_eq(json_at(first_account(&compared, "p"), "leftOut", END), "2");
        compared_done(&compared);
}
END_TEST

/* Rows of gzip were put together with others: under no name is known who did what. */
START_TEST(a_ledger_that_lost_names_tells_of_all_threads_alone) {
        static const Life lives[] = { { "sh", S(1), S(2), 0 }, { "sh", S(3), GONE, 0 } };
        static const Dead rows[] = {
                { "gzip", SIDE_BEFORE, 100, S(6), S(5), 0, 7, false },
                { "[ended, names folded]", SIDE_AFTER, 401, S(31), S(9), 0, 7, false },
        };
        static const CoverageLedger ledger = { .known = true, .in_a_row = true };
        SideSetup setup = setup_of(true);
        Compared compared = { .comparison = NULL };
        View view = view_of(VIEW_AXIS_PCOMM);
        Scene scene = SCENE(lives, rows);
        const Coverage *coverage;
        JsonWriter writer;
        json_object *json;

        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        fold(compared.comparison, &scene, true);
        compared.comparison->table.columns.of[0].lost_names = true;
        compared_end(&compared, no_sources);
        ck_assert_ptr_null(compared_group(&compared, COMPARISON_GROUPS, "[ended, names folded]"));
        ck_assert_str_eq(metric_at(&compared, "sh", "run_time_ns", "work"), "1000000000");
        ck_assert_str_eq(json_at(compared_group(&compared, COMPARISON_GROUPS, "sh"), "exits", END),
                         "null");
        ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.exits.n, 301);
        /* 1 of the shell, and 9 - 5 - 3 of the ended */
        coverage = &compared.comparison->table.coverages[0];
        coverage_write_json(json_text_begin(&writer), coverage, &ledger, &host, &span, "");
        json = json_tokener_parse(json_text_end(&writer));
        ck_assert_str_eq(json_at(json, "attributedNs", END), "2000000000");
        json_object_put(json);
        compared_done(&compared);
}
END_TEST

/*
 * Messages of taskstats have no cgroup. A thread of /a had run for 7 s before, and two ended with 9
 * s in all: what they did in between is 2 s, wherever they were.
 */
START_TEST(a_ledger_without_cgroups_tells_nothing_of_one_cgroup) {
        static const ViewAxis axes[] = { VIEW_AXIS_CGROUP, VIEW_AXIS_ALL, VIEW_AXIS_THREAD };
        static const char *const placed[] = { "/a", "/a\x1fp\x1fp", "/a\x1fp\x1fp" };
        static const char *const unplaced[] = { "", "\x1fp\x1fp", "\x1fp\x1fp" };
        ThreadSample vanished = thread_of("p", "p", 100), on = thread_of("p", "p", 200);

        vanished.cgroup = on.cgroup = SPAN_LITERAL("/a");
        vanished.start_ticks = on.start_ticks = 9000;
        thread_sample_put(&vanished, METRIC_run_time_ns, S(7));
        thread_sample_put(&on, METRIC_run_time_ns, S(1));
        for (size_t i = 0; i < ELEMENTSOF(axes); i++) {
                SideSetup setup = setup_of(true);
                Compared compared = { .comparison = NULL };
                View view = view_of(axes[i]);
                ExitedRow row = { .exits = 2, .lives_ns = S(13), .sample = thread_of("p", "p", 0) };
                json_object *group;

                row.sample.cgroup = (Span){ NULL, 0 };
                thread_sample_put(&row.sample, METRIC_run_time_ns, S(9));
                ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, &vanished, NULL), 0);
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, &on, &on), 0);
                ck_assert_int_eq(
                        column_table_add_ended(&compared.comparison->table, 0, SIDE_AFTER, &row),
                        0);
                compared_end(&compared, no_sources);
                ck_assert_str_eq(metric_at(&compared, unplaced[i], "run_time_ns", "work"),
                                 "2000000000");
                ck_assert_str_eq(metric_at(&compared, unplaced[i], "run_time_ns", "approximate"),
                                 "");
                group = compared_group(&compared, COMPARISON_GROUPS, unplaced[i]);
                ck_assert_str_eq(json_at(group, "time", "aliveNs", END), "3000000000");
                group = compared_group(&compared,
                                       axes[i] == VIEW_AXIS_THREAD ? COMPARISON_ONLY_BEFORE
                                                                   : COMPARISON_GROUPS,
                                       placed[i]);
                ck_assert_str_eq(json_at(group, "exits", END), "null");
                ck_assert_str_eq(json_at(group, "lives", "ended", END), "1");
                compared_done(&compared);
        }
}
END_TEST

START_TEST(a_negative_sum_of_the_ended_is_left_out) {
        static const Life lives[] = { { "p", S(10), S(11), 0 }, { "p", S(9), GONE, 0 } };
        static const Dead rows[] = { { "p", SIDE_AFTER, 2, S(3), S(1), 2, 0, false },
                                     { "q", SIDE_AFTER, 1, S(13), S(10), 0, 0, false } };
        Scene scene = SCENE(lives, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), "1000000000");
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "leftOut"), "2");
        ck_assert_str_ne(metric_at(&compared, "p", "run_time_ns", "approximate"), "");
        ck_assert_str_eq(json_at(first_account(&compared, "p"), "leftOut", END), "2");
        /* Nor does the time they lived count then. */
        ck_assert_str_eq(json_at(group, "time", "aliveNs", END), "10000000000");
        compared_done(&compared);
}
END_TEST

/*
 * Nine threads ended as p, and one that is gone as q had run for long before. What all that ended
 * did is known if that of q is; else there were 4 CPUs for 11 s.
 */
static const struct {
        uint64_t vanished, run;
        const char *whole, *shown, *cut; /* of p, with 1 s of one that lived on */
} posing_rows[] = {
        { S(40), S(42), "43000000000", "3000000000", "[\"runningNs\"]" },
        { NONE, S(60), "61000000000", "45000000000", "[\"runningNs\"]" },
        { NONE, S(44), "45000000000", "45000000000", "" },
        /* A hundredth is a trifle. */
        { 20 * NSEC_PER_MSEC, S(42), "43000000000", "43000000000", "" },
};

START_TEST(what_cannot_be_is_cut_where_groups_are_shown) {
        const Life lives[] = { { "p", S(10), S(11), 0 },
                               { "q", posing_rows[_i].vanished, GONE, 0 } };
        const Dead rows[] = { { "p", SIDE_AFTER, 9, S(20), posing_rows[_i].run, 8, 0, false } };
        bool is_cut = posing_rows[_i].cut[0] != '\0';
        Scene scene = SCENE(lives, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "p");

        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), posing_rows[_i].whole);
        ck_assert_str_eq(json_at(group, "time", "runningNs", END), posing_rows[_i].whole);
        ck_assert_int_eq(metric_at(&compared, "p", "run_time_ns", "approximate")[0] != '\0',
                         is_cut);
        ck_assert_str_eq(json_at(first_account(&compared, "p"), "runningNs", END),
                         posing_rows[_i].shown);
        ck_assert_str_eq(json_at(first_account(&compared, "p"), "cut", END), posing_rows[_i].cut);
        ck_assert_int_eq(
                json_object_get_double(json_object_object_get(group, "weight")) >
                        json_object_get_double(json_object_object_get(
                                compared_group(&compared, COMPARISON_OVERVIEW, "p"), "weight")),
                is_cut);
        compared_done(&compared);
}
END_TEST

/* What is not known of one thread or row spoils the sum of the ended, and no other. */
static const struct {
        uint64_t vanished, exited;
} unknown_rows[] = {
        { NONE, S(6) },
        { S(4), UINT64_MAX },
        { S(4), NONE },
};

START_TEST(an_incomplete_sum_of_the_ended_is_left_out) {
        const Life lives[] = { { "p", S(10), S(11), 0 },
                               { "p", unknown_rows[_i].vanished, GONE, 0 } };
        const Dead rows[] = { { "p", SIDE_AFTER, 1, S(13), 0, 0, 0, false } };
        Scene scene = SCENE(lives, rows);
        SideSetup setup = setup_of(true);
        Compared compared = { .comparison = NULL };
        View view = view_of(VIEW_AXIS_PCOMM);
        ExitedRow row = row_of(&rows[0]);

        if (unknown_rows[_i].exited == NONE)
                thread_sample_drop(&row.sample, METRIC_run_time_ns);
        else
                thread_sample_put(&row.sample, METRIC_run_time_ns, unknown_rows[_i].exited);
        scene.n_exited = 0;
        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        fold(compared.comparison, &scene, true);
        ck_assert_int_eq(column_table_add_ended(&compared.comparison->table, 0, SIDE_AFTER, &row),
                         0);
        compared_end(&compared, no_sources);
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "work"), "1000000000");
        ck_assert_str_eq(metric_at(&compared, "p", "run_time_ns", "leftOut"),
                         unknown_rows[_i].exited == NONE ? "0" : "1");
        ck_assert_str_eq(metric_at(&compared, "p", "wait_time_ns", "leftOut"), "0");
        compared_done(&compared);
}
END_TEST

/* Delays are of threads with accounting; a gone one without any had none. */
START_TEST(delays_are_of_accounted_threads) {
        SideSetup setup = setup_of(true);
        View view = view_of(VIEW_AXIS_PCOMM);
        Comparison *comparison = NULL;
        ThreadSample vanished = thread_of("p", "p", 100);
        ExitedRow row = { .exits = 3, .accounted = 2, .sample = thread_of("p", "p", 0) };
        Compared compared = { .comparison = NULL };

        vanished.start_ticks = 9000;
        thread_sample_put(&vanished, METRIC_cpu_delay_count, 1);
        thread_sample_put(&row.sample, METRIC_cpu_delay_count, 5);
        thread_sample_put(&row.sample, METRIC_swapin_delay_count, 4);
        ck_assert_int_eq(side_setup_compare(&view, &setup, &comparison), 0);
        compared.comparison = comparison;
        ck_assert_int_eq(side_setup_add(comparison, 0, &vanished, NULL), 0);
        ck_assert_int_eq(column_table_add_ended(&comparison->table, 0, SIDE_AFTER, &row), 0);
        compared_end(&compared, no_sources);
        ck_assert_str_eq(metric_at(&compared, "p", "cpu_delay_count", "work"), "4");
        ck_assert_str_eq(metric_at(&compared, "p", "swapin_delay_count", "work"), "4");
        compared_done(&compared);
}
END_TEST

/* The job of the old cgroup ended before the interval, and only the ledgers know of it. */
START_TEST(a_cgroup_of_which_only_a_ledger_tells_can_be_renamed) {
        SideSetup setup = setup_of(true);
        View view = view_of(VIEW_AXIS_ALL);
        char complaint[VIEW_COMPLAINT_BYTES];
        Compared compared = { .comparison = NULL };
        ThreadSample before = thread_of("main", "main", 100), after[2];
        ExitedRow row = { .exits = 3, .sample = thread_of("job", "job", 0) };
        json_object *group;

        ck_assert_int_eq(view_set(&view, VIEW_PART_pairs, span_of("/old=/new"), complaint),
                         VIEW_OK);
        before.cgroup = row.sample.cgroup = SPAN_LITERAL("/old");
        after[0] = thread_of("main", "main", 200);
        after[1] = thread_of("job", "job", 300);
        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        for (unsigned end = 0; end < SIDES; end++)
                ck_assert_int_eq(
                        column_table_add_ended(&compared.comparison->table, 0, (Side) end, &row),
                        0);
        ck_assert_int_eq(side_setup_add(compared.comparison, 0, &before, NULL), 0);
        for (unsigned i = 0; i < 2; i++) {
                after[i].cgroup = SPAN_LITERAL("/new");
                after[i].start_ticks = 10500;
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, NULL, &after[i]), 0);
        }
        compared_end(&compared, no_sources);
        group = compared_group(&compared, COMPARISON_GROUPS, "/old\x1fjob\x1fjob");
        ck_assert_str_eq(json_at(group, "lives", "born", END), "1");
        compared_done(&compared);
}
END_TEST

/* The longest wait of threads that ended, where it must have been inside. */
static const struct {
        Dead rows[2];
        uint64_t peak_of_vanished;
        const char *after, *inside;
} peak_rows[] = {
        /* all were born inside */
        { { { "p", SIDE_AFTER, 2, S(2), S(8), 2, 70, false } }, 900, "70", "true" },
        /* one was not, but none that ended had waited for so long before */
        { { { "p", SIDE_AFTER, 2, S(2), S(8), 1, 70, false } }, 69, "70", "true" },
        { { { "p", SIDE_AFTER, 2, S(2), S(8), 1, 70, false } }, 70, "5", "false" },
        /* others had ended before: the maximum may be theirs */
        { { { "p", SIDE_AFTER, 9, S(9), S(8), 9, 70, false },
            { "p", SIDE_BEFORE, 2, S(2), S(1), 2, 6, false } },
          1,
          "5",
          "false" },
};

START_TEST(a_peak_of_the_ended_counts_if_it_was_inside) {
        const Life lives[] = { { "p", S(10), S(11), 5 },
                               { "other", S(3), GONE, peak_rows[_i].peak_of_vanished } };
        Scene scene = { lives, 2, peak_rows[_i].rows, peak_rows[_i].rows[1].name ? 2 : 1 };
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);

        ck_assert_str_eq(metric_at(&compared, "p", "wait_max", "after"), peak_rows[_i].after);
        ck_assert_str_eq(metric_at(&compared, "p", "wait_max", "inside"), peak_rows[_i].inside);
        compared_done(&compared);
}
END_TEST

START_TEST(own_threads_are_left_out_of_the_view_alone) {
        static const Dead rows[] = { { "ctprofctl", SIDE_AFTER, 2, S(3), S(1), 2, 0, true } };
        static const CoverageLedger ledger = { .known = true, .in_a_row = true };
        Scene scene = SCENE(shell, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_PCOMM, true);
        const Coverage *coverage = &compared.comparison->table.coverages[0];
        JsonWriter writer;
        json_object *json;

        ck_assert_ptr_null(compared_group(&compared, COMPARISON_GROUPS, "ctprofctl"));
        ck_assert_uint_eq(compared.comparison->table.columns.of[0].lives.short_lived.n, 0);
        coverage_write_json(json_text_begin(&writer), coverage, &ledger, &host, &span, "");
        json = json_tokener_parse(json_text_end(&writer));
        ck_assert_str_eq(json_at(json, "bornAndEndedNs", END), "1000000000");
        json_object_put(json);
        compared_done(&compared);
}
END_TEST

START_TEST(by_thread_the_ended_are_groups_of_their_names) {
        static const Dead rows[] = {
                { "p", SIDE_AFTER, 3, S(13 + 3), S(6 + 1), 2, 0, false },
        };
        Scene scene = SCENE(pool, rows);
        Compared compared = compared_scene(&scene, VIEW_AXIS_THREAD, true);
        json_object *group = compared_group(&compared, COMPARISON_GROUPS, "/\x1fp\x1fp");

        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "ended", END), "true");
        ck_assert_str_eq(json_at(group, "tid", END), "");
        ck_assert_str_eq(json_at(group, "process", END), "\"p\"");
        ck_assert_str_eq(json_at(group, "cgroup", END), "\"\\/\"");
        ck_assert_str_eq(json_at(group, "lives", END),
                         "{\"survived\":0,\"born\":0,\"ended\":1,\"bornAndEnded\":2}");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "work", END), "3000000000");
        /* and the two that live */
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_GROUPS]), 3);
        ck_assert_uint_eq(json_object_array_length(compared.lists[COMPARISON_ONLY_BEFORE]), 0);
        compared_done(&compared);
}
END_TEST

START_TEST(two_intervals_compare_the_work_of_the_ended) {
        SideSetup setup = setup_of(false);
        Compared compared = { .comparison = NULL };
        View view = view_of(VIEW_AXIS_PCOMM);
        json_object *group;

        view.window = false;
        setup.elapsed_ns = 0;
        for (unsigned side = 0; side < SIDES; side++) {
                setup.interval_of_ns[side] = S(10);
                setup.begins[side] = setup.times[0];
                setup.has_ledger[side] = true;
        }
        setup.times[0] = setup.times[1];
        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        for (unsigned side = 0; side < SIDES; side++)
                for (size_t i = 0; i < 2; i++) {
                        ExitedRow row = row_of(&gzip[i]);

                        if (i == 1 && side == SIDE_AFTER) /* twice as much */
                                thread_sample_put(&row.sample, METRIC_run_time_ns, S(5 + 48));
                        ck_assert_int_eq(column_table_add_ended(&compared.comparison->table, side,
                                                                gzip[i].end, &row),
                                         0);
                }
        compared_end(&compared, no_sources);
        group = compared_group(&compared, COMPARISON_GROUPS, "gzip");
        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "a", END), "2400000000");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "b", END), "4800000000");
        ck_assert_str_eq(json_at(group, "exits", END), "{\"a\":300,\"b\":300}");
        ck_assert_str_eq(json_at(group, "lives", "b", "bornAndEnded", END), "300");
        ck_assert_str_eq(json_at(group, "time", "b", "runningNs", END), "48000000000");
        ck_assert_uint_eq(compared.comparison->table.columns.of[SIDE_BEFORE].lives.short_lived.n,
                          300);
        compared_done(&compared);
}
END_TEST

/* By whose children ended inside, as far as that is known; nobody starts workers of the kernel. */
START_TEST(who_started_what_ended_is_told) {
        static const struct {
                Dead exited;
                const char *parent; /* NULL: not known */
        } rows[] = {
                { { "gzip", SIDE_BEFORE, 7, S(1), S(1), 0, 0, false }, "cron" },
                { { "gzip", SIDE_AFTER, 7, S(1), S(1), 0, 0, false }, "cron" },
                { { "gzip", SIDE_AFTER, 3, S(1), S(1), 3, 0, false }, "bash" },
                { { "gzip", SIDE_AFTER, 5, S(1), S(1), 5, 0, false }, "sh" },
                { { "gzip", SIDE_BEFORE, 2, S(1), S(1), 0, 0, false }, NULL },
                { { "gzip", SIDE_AFTER, 3, S(1), S(1), 1, 0, false }, NULL },
                { { "kworker/0:1", SIDE_AFTER, 2, S(1), S(1), 2, 0, false }, "" },
                { { "unknown", SIDE_AFTER, 2, S(1), S(1), 2, 0, false }, NULL },
        };
        static const struct {
                const char *key, *exits, *starters;
        } wanted[] = {
                { "gzip", "9",
                  "[{\"name\":\"sh\",\"threads\":5},{\"name\":\"bash\",\"threads\":3}]" },
                { "kworker/0:1", "2", "[]" },
                { "unknown", "2", "null" },
                { "sh", "0", "[]" },
        };
        const Scene scene = { shell, ELEMENTSOF(shell), NULL, 0 };
        SideSetup setup = setup_of(true);
        Compared compared = { .comparison = NULL };
        View view = view_of(VIEW_AXIS_PCOMM);

        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ExitedRow row = row_of(&rows[i].exited);

                if (rows[i].parent)
                        row.started_by = span_of(rows[i].parent);
                ck_assert_int_eq(column_table_add_ended(&compared.comparison->table, 0,
                                                        rows[i].exited.end, &row),
                                 0);
        }
        fold(compared.comparison, &scene, true);
        compared_end(&compared, no_sources);
        for (size_t i = 0; i < ELEMENTSOF(wanted); i++) {
                json_object *group = compared_group(&compared, COMPARISON_GROUPS, wanted[i].key);

                ck_assert_ptr_nonnull(group);
                ck_assert_str_eq(json_at(group, "exits", END), wanted[i].exits);
                ck_assert_str_eq(json_at(group, "startedBy", END), wanted[i].starters);
        }
        compared_done(&compared);
}
END_TEST

/* Members of a pattern are those that ended inside. */
START_TEST(patterns_count_who_ended) {
        static const Dead rows[] = {
                { "job-1", SIDE_BEFORE, 2, S(1), S(1), 2, 0, false },
                { "job-1", SIDE_AFTER, 2, S(1), S(1), 2, 0, false },
                { "job-2", SIDE_AFTER, 4, S(2), S(2), 4, 0, false },
        };
        SideSetup setup = setup_of(true);
        Compared compared = { .comparison = NULL };
        View view = view_of(VIEW_AXIS_PCOMM);
        Scene scene = SCENE(shell, rows);
        json_object *group;

        view.thread_normalize = true;
        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                ExitedRow row = row_of(&rows[i]);

                ck_assert_int_eq(
                        thread_groups_census(&compared.comparison->table.threads, &row.sample), 0);
        }
        fold(compared.comparison, &scene, true);
        compared_end(&compared, no_sources);
        group = compared_group(&compared, COMPARISON_GROUPS, "job-{N}");
        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "members", END), "[{\"name\":\"job-2\",\"threads\":4}]");
        compared_done(&compared);
}
END_TEST

/*
 * No ledger tells with which command a thread ended: what it did is that of its process, and what
 * it had before is taken out there.
 */
START_TEST(the_ended_have_no_command) {
        static const Dead rows[] = { { "python3", SIDE_AFTER, 1, S(15), S(5), 0, 0, false } };
        static const Life lives[] = { { "python3", S(1), S(3), 0 }, { "python3", S(2), GONE, 0 } };
        static const char *const names[] = { "python3 worker.py", "python3 web.py" };
        SideSetup setup = setup_of(true);
        Compared compared = { .comparison = NULL };
        View view = view_of(VIEW_AXIS_COMMAND);
        ExitedRow row = row_of(&rows[0]);
        json_object *group;

        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        ck_assert_int_eq(column_table_add_ended(&compared.comparison->table, 0, SIDE_AFTER, &row),
                         0);
        for (size_t i = 0; i < ELEMENTSOF(lives); i++) {
                ThreadSample before = sample_of(&lives[i], i, lives[i].before);
                ThreadSample after = sample_of(&lives[i], i, lives[i].after);

                before.command_name = after.command_name = span_of(names[i]);
                before.command = after.command = SPAN_LITERAL("python3\0x.py\0");
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, &before,
                                                lives[i].after == GONE ? NULL : &after),
                                 0);
        }
        compared.comparison->table.columns.of[0].host = host;
        compared_end(&compared, no_sources);
        group = compared_group(&compared, COMPARISON_GROUPS, "python3 worker.py");
        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "command", END), "\"python3 worker.py\"");
        ck_assert_str_eq(json_at(group, "commands", END),
                         "[{\"name\":\"python3 worker.py\",\"threads\":1}]");
        ck_assert_str_eq(json_at(group, "metrics", "run_time_ns", "work", END), "2000000000");
        ck_assert_ptr_null(compared_group(&compared, COMPARISON_GROUPS, "python3 web.py"));
        ck_assert_ptr_null(compared_group(&compared, COMPARISON_ONLY_BEFORE, "python3 web.py"));
        group = compared_group(&compared, COMPARISON_GROUPS, "python3");
        ck_assert_ptr_nonnull(group);
        ck_assert_str_eq(json_at(group, "commands", END), "");
        ck_assert_str_eq(json_at(group, "lives", "ended", END), "1");
        compared_done(&compared);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("comparison-ended");
        TCase *tcase;

        tcase = tcase_create("work");
        tcase_add_test(tcase, who_was_born_and_ended_inside_is_a_group);
        tcase_add_test(tcase, the_ended_have_no_command);
        tcase_add_test(tcase, without_a_ledger_nobody_knows);
        tcase_add_test(tcase, all_four_kinds_of_lives_add_up);
        tcase_add_test(tcase, a_group_that_ended_as_a_whole_has_its_work);
        tcase_add_loop_test(tcase, an_incomplete_sum_of_the_ended_is_left_out, 0,
                            ELEMENTSOF(unknown_rows));
        tcase_add_test(tcase, delays_are_of_accounted_threads);
        tcase_add_test(tcase, workers_of_the_kernel_end_under_their_short_names);
        tcase_add_test(tcase, a_cgroup_of_which_only_a_ledger_tells_can_be_renamed);
        tcase_add_loop_test(tcase, a_peak_of_the_ended_counts_if_it_was_inside, 0,
                            ELEMENTSOF(peak_rows));
        tcase_add_test(tcase, own_threads_are_left_out_of_the_view_alone);
        tcase_add_test(tcase, two_intervals_compare_the_work_of_the_ended);
        tcase_add_test(tcase, who_started_what_ended_is_told);
        suite_add_tcase(suite, tcase);

        tcase = tcase_create("names");
        tcase_add_test(tcase, who_ends_under_another_name_is_said_to);
        tcase_add_loop_test(tcase, more_than_there_was_time_for_is_left_out, 0,
                            ELEMENTSOF(brought_rows));
        tcase_add_test(tcase, a_group_that_is_nothing_but_too_much_says_why);
        tcase_add_test(tcase, a_ledger_that_lost_names_tells_of_all_threads_alone);
        tcase_add_test(tcase, a_ledger_without_cgroups_tells_nothing_of_one_cgroup);
        tcase_add_test(tcase, a_negative_sum_of_the_ended_is_left_out);
        tcase_add_loop_test(tcase, what_cannot_be_is_cut_where_groups_are_shown, 0,
                            ELEMENTSOF(posing_rows));
        tcase_add_test(tcase, by_thread_the_ended_are_groups_of_their_names);
        tcase_add_test(tcase, patterns_count_who_ended);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
