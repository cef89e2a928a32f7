/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Comparison
 *
 * The engine behind show (one side) and compare (two): threads go in one by one, groups come out in
 * the order of display, each as the JSON object Group of the interface. It reads no file and keeps
 * no thread: memory grows with the number of groups. Only values that are present take part, so a
 * group's sum is the sum of those of its threads that had one.
 *
 * The calls in their only order:
 *
 *     comparison_new()
 *     comparison_census()   for every thread of every side, only when comparison_wants_census():
 *                           a pattern is a key only when two distinct names share it, which is
 *                           known after all names were seen
 *     comparison_fold()     for every thread of every side again, sides in any order; or
 *     comparison_fold_life() instead, for every life of a thread, when the view wants a window
 *     comparison_finish()   once: everything is reduced and ordered
 *     comparison_n(), comparison_write(), comparison_hidden_*()
 *
 * Groups are in the order that the view wants (order.h). What its filter does not match is nowhere
 * in the output, but counts where a row is measured against the whole host.
 *
 * Threads marked self are left out by census and fold themselves, unless the view wants them.
 *
 * Over a window (group-window.h) threads are in the groups of their later names, and there are no
 * groups on the later side only: what was born began at 0.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "analysis/group/group-window.h"
#include "analysis/group/side.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

typedef struct Comparison Comparison;

/* What the comparison has to know of its inputs besides their threads. */
typedef struct ComparisonSetup {
        unsigned n_sides; /* 1: show; 2: compare */
        Boots boots;
        uint64_t elapsed_ns; /* between the two captures; 0 (unknown, or not forwards): no rates */
} ComparisonSetup;

/* What comparison_write() can write, and where the interface puts it. */
typedef enum ComparisonList {
        COMPARISON_GROUPS,      /* "groups": keys on both sides; with one side all of them */
        COMPARISON_ONLY_BEFORE, /* "onlyBefore": in the form of show, largest run time first */
        COMPARISON_ONLY_AFTER,  /* "onlyAfter" */
        _COMPARISON_LIST_MAX,
} ComparisonList;

/* life */

/* @view is copied. */
_must_check_ int comparison_new(const View *view, const ComparisonSetup *setup, Comparison **ret);
Comparison *comparison_free(Comparison *comparison);
DEFINE_CLEANUP(Comparison *, comparison_free);

/* input: 0 or -ENOMEM; @sample is borrowed for the call */

bool comparison_wants_census(const Comparison *comparison);
_must_check_ int comparison_census(Comparison *comparison, const ThreadSample *sample);
_must_check_ int comparison_fold(Comparison *comparison, Side side, const ThreadSample *sample);

/* By lives of threads: two sides of one boot, and the view's window. */
bool comparison_wants_lives(const Comparison *comparison);
/* One thread: both samples, or the only one; see MergeLife in analysis/subject/subject-merge.h. */
_must_check_ int comparison_fold_life(Comparison *comparison, const ThreadSample *before,
                                      const ThreadSample *after);

/*
 * @sources[side] tells why values are absent: borrowed until the comparison is freed; NULL when the
 * file records no sources (format version 0) or there is no such side.
 */
_must_check_ int comparison_finish(Comparison *comparison,
                                   const SourceTable *const sources[static SIDES]);

/* output, after comparison_finish() */

/* How many can be written of @list: the view's limit is applied to each list. */
size_t comparison_n(const Comparison *comparison, ComparisonList list);
/*
 * Writes the @index-th of @list as one complete object; tens of kilobytes at most for names of
 * usual length. Each may be written any number of times. Failures are remembered by @writer.
 */
void comparison_write(const Comparison *comparison, ComparisonList list, size_t index,
                      JsonWriter *writer);

/*
 * Rows that changed_only hid: unchanged or absent on both sides (with one side: absent); and those
 * that did not move by more than the threshold. A group
 * none of whose rows is left is hidden with them, before the limit is applied. Rows of groups that
 * the limit cut off do not count, nor do rows that the view does not want; one-sided lists hide
 * none.
 */
uint64_t comparison_hidden_rows(const Comparison *comparison);
/*
 * Rows that are left above the view's threshold, those of groups that the limit cut off included; 0
 * without a threshold or with one side.
 */
uint64_t comparison_rows_above_threshold(const Comparison *comparison);
/* Renamed cgroups: what became one group although the keys differ (pairing.h). */
size_t comparison_n_pairings(const Comparison *comparison);
/* The array "pairings" of the interface, of the first PAIRING_MAX_WRITTEN. */
void comparison_write_pairings(const Comparison *comparison, JsonWriter *writer);
/* What became of all threads, whether their groups are shown or not; 0 without a window. */
LifeCounts comparison_lives(const Comparison *comparison);
/* What a cgroup of AFTER was called before: see pairing_append_old_name(). */
_must_check_ int comparison_append_old_cgroup(const Comparison *comparison, Span key, Buffer *name);
/* Entries of @list that the view's limit cut off. */
uint64_t comparison_hidden(const Comparison *comparison, ComparisonList list);
