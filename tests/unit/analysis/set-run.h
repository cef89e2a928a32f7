/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetRun
 *
 * Runs the whole engine over two sets of captures of one boot and parses its output.
 */

#include <check.h>
#include <json-c/json.h>
#include <string.h>

#include "analysis/set/set-comparison.h"
#include "compared.h"

#define SHOT_TICKS 100 /* a second */

/* One capture; the captures of a side are in the order of time. */
typedef struct Shot {
        unsigned side;
        uint64_t at_s; /* since boot */
        const ThreadSample *samples;
        size_t n_samples;
        /* With has_ledger: its rows. */
        bool has_ledger, lost_names; /* since the capture before */
        const ExitedRow *exited;
        size_t n_exited;
} Shot;

/* What the hosts of both sides have; without CPUs it is not told. */
static HostUse set_run_hosts[SIDES];
static KernelDefects set_run_defects[SIDES];

typedef struct SetRun {
        SetComparison *comparison;
        SetFigures figures;
        json_object *groups;
} SetRun;

static inline void set_run_done(SetRun *run) {
        json_object_put(run->groups);
        set_comparison_free(run->comparison);
}

/* Finds the thread of @after in @shot. */
static inline const ThreadSample *shot_find(const Shot *shot, const ThreadSample *after) {
        for (size_t i = 0; shot && i < shot->n_samples; i++)
                if (shot->samples[i].tid == after->tid &&
                    shot->samples[i].start_ticks == after->start_ticks)
                        return &shot->samples[i];
        return NULL;
}

/* A capture takes no time. */
static inline JudgeTime set_run_time(const Shot *shot) {
        return (JudgeTime){ .known = true,
                            .start_ns = shot->at_s * NSEC_PER_SEC,
                            .end_ns = shot->at_s * NSEC_PER_SEC,
                            .tick_ns = NSEC_PER_SEC / SHOT_TICKS };
}

static inline void set_run_fold(SetRun *run, const Shot *shot, const Shot *previous,
                                const Shot *earlier) {
        const Shot *const ends[SIDES] = { previous, shot };
        SetCapture capture = { .side = shot->side,
                               .column = { .end = set_run_time(shot),
                                           .defects = set_run_defects[shot->side] } };
        bool has_ledger = previous && previous->has_ledger && shot->has_ledger;

        if (previous) {
                capture.column.has_begin = true;
                capture.column.begin = set_run_time(previous);
                capture.column.elapsed_ns = (shot->at_s - previous->at_s) * NSEC_PER_SEC;
        }
        capture.column.has_ledger = has_ledger;
        if (earlier) {
                capture.has_earlier = true;
                capture.earlier_ticks = earlier->at_s * SHOT_TICKS;
        }
        set_comparison_begin(run->comparison, &capture);
        for (size_t i = 0; i < shot->n_samples; i++)
                ck_assert_int_eq(set_comparison_add(run->comparison,
                                                    shot_find(previous, &shot->samples[i]),
                                                    &shot->samples[i]),
                                 0);
        for (size_t i = 0; previous && i < previous->n_samples; i++)
                if (!shot_find(shot, &previous->samples[i]))
                        ck_assert_int_eq(
                                set_comparison_add(run->comparison, &previous->samples[i], NULL),
                                0);
        for (unsigned end = 0; end < SIDES && has_ledger; end++)
                for (size_t i = 0; i < ends[end]->n_exited; i++)
                        ck_assert_int_eq(column_table_add_ended(&run->comparison->table, 0,
                                                                (Side) end, &ends[end]->exited[i]),
                                         0);
        if (shot->lost_names)
                run->comparison->table.columns.of[0].lost_names = true;
        ck_assert_int_eq(set_comparison_end(run->comparison), 0);
}

static inline SetRun set_run_of(const View *view, double alpha, const Shot *shots, size_t n_shots,
                                const SourceTable *const sources[static SIDES]) {
        SetRun run = { .comparison = NULL };
        JsonWriter writer;

        ck_assert_int_eq(set_comparison_new(view, n_shots, alpha, &run.comparison), 0);
        for (size_t i = 0; i < n_shots && run.comparison->table.threads.keys.has_census; i++)
                for (size_t j = 0; j < shots[i].n_samples; j++)
                        ck_assert_int_eq(thread_groups_census(&run.comparison->table.threads,
                                                              &shots[i].samples[j]),
                                         0);
        for (size_t i = 0; i < n_shots; i++) {
                const Shot *earlier = NULL;

                for (size_t j = 0; j < n_shots; j++)
                        if (shots[j].at_s < shots[i].at_s &&
                            (!earlier || shots[j].at_s > earlier->at_s))
                                earlier = &shots[j];
                set_run_fold(&run, &shots[i],
                             earlier && earlier->side == shots[i].side ? earlier : NULL, earlier);
        }
        for (unsigned side = 0; side < SIDES; side++)
                if (set_run_hosts[side].n_cpus.known)
                        run.comparison->hosts[side] = set_run_hosts[side];
        ck_assert_int_eq(set_comparison_finish(run.comparison, sources), 0);
        run.figures = run.comparison->figures;

        json_write_array(json_text_begin(&writer));
        for (size_t i = 0; i < run.comparison->n_shown; i++)
                set_comparison_write(run.comparison, i, &writer);
        json_write_end(&writer);
        run.groups = json_tokener_parse(json_text_end(&writer));
        ck_assert_ptr_nonnull(run.groups);
        return run;
}

/* Finds the group of @key; NULL when there is none. */
static inline json_object *set_run_group(const SetRun *run, const char *key) {
        for (size_t i = 0; i < json_object_array_length(run->groups); i++) {
                json_object *group = json_object_array_get_idx(run->groups, i);

                if (strcmp(json_object_get_string(json_object_object_get(group, "key")), key) == 0)
                        return group;
        }
        return NULL;
}
