/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetComparison
 *
 * The engine that compares two sets of captures: threads go in capture by capture, groups come out
 * with the medians of both sets and how certain their difference is. Like a Comparison it reads no
 * file and keeps no thread, and it makes the same keys; memory grows with the number of groups and
 * of captures. See set-group.h for the samples of a capture, and rank-test.h for the test.
 *
 * Call in this order:
 *
 *     set_comparison_new()
 *     thread_groups_census()   for every thread of every capture, only when keys.has_census, and
 *                              thread_groups_census_cgroup() for every cgroup, if keys have them
 *     set_comparison_begin()   for every capture, each side's in the order of time,
 *     set_comparison_add()         then for every thread in it or in its interval,
 *     column_table_add_ended()     then for every row of the ledgers of its interval, if it has
 *                                  one; the column is also told if they lost names,
 *     set_comparison_end()         then once
 *     set_comparison_finish()  once: tests and orders everything
 *     set_comparison_write()   for the groups that are shown
 *
 * The family of tests, over which p-values are adjusted, consists of all rows that the view wants,
 * of the groups that its filter matches, that have at least two samples on both sides which are not
 * all equal. Equal samples carry no evidence either way; leaving them out is unbiased because it
 * depends only on the pooled samples, not on their sides. The same holds for rows that could not be
 * significant even alone, which are left out unless all rows are such. Neither the limit nor the
 * threshold changes the family.
 *
 * The weight of a group tells how much it matters in two sets of captures: it is the share of the
 * host that moved more (weight.h), by the account (account.h) of one second on each side, which has
 * the medians over the intervals. A side that has no thread of the group did nothing there; nothing
 * is known of one that has some whose work no interval tells.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "analysis/compare/column-table.h"
#include "analysis/compare/order.h"
#include "analysis/group/host-use.h"
#include "analysis/set/rank-test.h"
#include "analysis/set/set-group.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

typedef struct SetFigures {
        SetFamily family;
        uint64_t n_matched;         /* groups that the filter lets through; without one all */
        size_t n_only[SIDES];       /* groups that the other side does not have */
        uint64_t n_hidden_rows;     /* hidden by changed_only (not significant) or the threshold */
        uint64_t n_hidden_groups;   /* beyond the limit */
        uint64_t n_above_threshold; /* significant rows above the threshold, hidden ones included */
} SetFigures;

typedef struct SetComparison {
        View view;
        double alpha;
        ColumnTable table; /* its column is the capture that is being read */
        SetRowList list;
        SetGroup **groups; /* owned; in the order of the table's */
        size_t n_groups, n_allocated;
        size_t n_captures, n_begun;
        uint64_t sides[SIDES];        /* the captures of each side, a bit each */
        KernelDefects defects[SIDES]; /* of any of their kernels */
        uint64_t ledgers;             /* captures whose intervals have one */
        uint64_t unplaced;            /* of these, those whose rows have no cgroups */
        SetCapture capture;           /* being read */
        double windows_ns;            /* total length */
        size_t n_windows;
        /* Its hosts, set before the end: what each did in a second; without CPUs no weights. */
        HostUse hosts[SIDES];

        /* after set_comparison_finish() */
        const SourceTable *sources[SIDES]; /* borrowed */
        ImpactScale scale;                 /* for rates and for the number of threads */
        SetTest *tests;                    /* owned: of all rows that have one */
        size_t n_tests, n_tests_allocated;
        /*
         * Groups in the order of display: those with significant rows first. Those of one side, and
         * all where no test could succeed, are there even if the view wants significant rows only:
         * with their weight, and without rows.
         */
        Group **shown; /* owned; the groups are borrowed */
        size_t n_shown;
        SetFigures figures;
} SetComparison;

/* @view is copied; n_captures: of both sides, at most SET_MAX_CAPTURES. 0 < @alpha < 1. */
_must_check_ int set_comparison_new(const View *view, size_t n_captures, double alpha,
                                    SetComparison **ret);
SetComparison *set_comparison_free(SetComparison *comparison);
DEFINE_CLEANUP(SetComparison *, set_comparison_free);

/* input: 0 or -ENOMEM; samples are borrowed for the call */

void set_comparison_begin(SetComparison *comparison, const SetCapture *capture);
/*
 * One thread. @after is in the capture; NULL: it has ended, and only a ledger tells what it did
 * since. @before is its sample in the capture at which the interval begins; NULL: there is none, or
 * no interval.
 */
_must_check_ int set_comparison_add(SetComparison *comparison, const ThreadSample *before,
                                    const ThreadSample *after);
_must_check_ int set_comparison_end(SetComparison *comparison);

/*
 * @sources[side] explains why values are absent: borrowed until the comparison is freed; NULL when
 * it is not recorded.
 */
_must_check_ int set_comparison_finish(SetComparison *comparison,
                                       const SourceTable *const sources[static SIDES]);

/* output, after set_comparison_finish() */

/* Writes the @index-th group as one object: tens of kilobytes at most. */
void set_comparison_write(const SetComparison *comparison, size_t index, JsonWriter *writer);
