/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetComparison
 *
 * The engine that compares two sets of captures: threads go in capture by capture, groups come out
 * with the medians of both sets and how surely they differ. As a Comparison it reads no file, keeps
 * no thread, and makes the same keys; memory grows with the number of groups and with that of
 * captures. What a capture gives of a row is told in set-row.h, the test in rank-test.h.
 *
 * The calls in their only order:
 *
 *     set_comparison_new()
 *     set_comparison_census()  for every thread of every capture, only when
 *                              set_comparison_wants_census()
 *     set_comparison_begin()   for every capture, each side's in the order of time,
 *     set_comparison_fold()        then for every life of a thread in it or in its window,
 *     set_comparison_end()         then once
 *     set_comparison_finish()  once: everything is tested and ordered
 *     set_comparison_n() ...
 *
 * The family of tests, over which p-values are adjusted, is all rows that the view wants of the
 * groups that its filter lets through, where both sides have two samples at least and the samples
 * are not all equal. Rows whose samples are all equal carry no evidence either way; to leave them
 * out biases nothing, since whether they are depends on the pooled samples alone and not on which
 * of them is of which side. The same goes for rows that could not be significant even alone, unless
 * all are such. Neither the limit nor the threshold changes the family.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "analysis/set/set-group.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

typedef struct SetComparison SetComparison;

/* @view is copied; n_captures: of both sides, at most SET_MAX_CAPTURES. 0 < @alpha < 1. */
_must_check_ int set_comparison_new(const View *view, size_t n_captures, double alpha,
                                    SetComparison **ret);
SetComparison *set_comparison_free(SetComparison *comparison);
DEFINE_CLEANUP(SetComparison *, set_comparison_free);

/* input: 0 or -ENOMEM; samples are borrowed for the call */

bool set_comparison_wants_census(const SetComparison *comparison);
_must_check_ int set_comparison_census(SetComparison *comparison, const ThreadSample *sample);

void set_comparison_begin(SetComparison *comparison, const SetCapture *capture);
/*
 * One life. @after is in the capture; NULL: it is gone by then, and what it did is not known.
 * @before is what the capture at which the window begins has of it; NULL: nothing, or no window.
 */
_must_check_ int set_comparison_fold(SetComparison *comparison, const ThreadSample *before,
                                     const ThreadSample *after);
_must_check_ int set_comparison_end(SetComparison *comparison);

/*
 * @sources[side] tells why values are absent: borrowed until the comparison is freed; NULL when it
 * is not recorded.
 */
_must_check_ int set_comparison_finish(SetComparison *comparison,
                                       const SourceTable *const sources[static SIDES]);

/* output, after set_comparison_finish() */

typedef struct SetFigures {
        size_t n_tested;      /* rows in the family */
        size_t n_significant; /* of them, adjusted p below alpha */
        /* What a row of the family can reach at best with its samples: the least; 1: no test. */
        double least_p;
        size_t n_needed;          /* set_family_samples_needed() */
        size_t n_only[SIDES];     /* groups that no capture of the other side has */
        uint64_t n_hidden_rows;   /* left out by changed_only (not significant) or the threshold */
        uint64_t n_hidden_groups; /* cut off by the limit */
        uint64_t n_above_threshold; /* significant rows that moved by more, hidden ones included */
} SetFigures;

const SetFigures *set_comparison_figures(const SetComparison *comparison);

/* Groups in the order of display: those with significant rows first. */
size_t set_comparison_n(const SetComparison *comparison);
/* The @index-th as one complete object; tens of kilobytes at most. */
void set_comparison_write(const SetComparison *comparison, size_t index, JsonWriter *writer);
