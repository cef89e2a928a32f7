/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Comparison
 *
 * The engine behind show and compare: threads go in one by one, groups come out in the order of
 * display, each as the JSON object Group of the interface. It reads no file and keeps no thread:
 * memory grows with the number of groups. A group's sum is the sum over those of its threads that
 * have a value.
 *
 * Call in this order:
 *
 *     comparison_new()
 *     comparison_census()    for every thread of every snapshot, only when
 *                            comparison_wants_census(): a pattern becomes a key only if two
 *                            distinct names share it, and that is known only after all names were
 *                            seen
 *     comparison_add()       for every thread of every column again, columns in any order
 *     comparison_add_ended() for every row of the ledgers of an interval, if it has one
 *     comparison_lose_names() if that ledger lost names
 *     comparison_set_host()  what the hosts did, where that is known
 *     comparison_finish()    once: reduces and orders everything
 *     comparison_n(), comparison_write(), comparison_hidden_*()
 *
 * Groups have the order of the view (order.h); lists of one side have it by weight and by metrics,
 * and else the largest run time first. Groups that its filter does not match are not written, but
 * count wherever a row is compared with the whole host.
 *
 * In an interval no group is on the later side only: what was born began at 0.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "analysis/account/coverage.h"
#include "analysis/group/column.h"
#include "analysis/group/group.h"
#include "analysis/group/side.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/exited-row.h"
#include "snapshot/source.h"
#include "snapshot/thread-sample.h"

typedef struct Comparison Comparison;

/* The comparison needs to know this of its inputs besides their threads. */
typedef struct ComparisonSetup {
        unsigned n_columns;
        ColumnSetup columns[COLUMNS_MAX];
        Boots boots; /* of the two sides */
        /* Between the captures that are the sides; 0: unknown, neither rates nor resets. */
        uint64_t elapsed_ns;
        /* judge_interval_ns() of two columns without a begin; 0: unknown or different boots. */
        uint64_t interval_ns;
} ComparisonSetup;

/* The lists of the interface that comparison_write() writes. */
typedef enum ComparisonList {
        COMPARISON_GROUPS,      /* "groups": keys on both sides; with one side all keys */
        COMPARISON_ONLY_BEFORE, /* "onlyBefore": in the form of show, see below for the order */
        COMPARISON_ONLY_AFTER,  /* "onlyAfter" */
        /*
         * "overview", if the view wants it: an account of each group of the other lists in the
         * order of the view, in which what is on one side only has its place.
         */
        COMPARISON_OVERVIEW,
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
/* True if the census is for cgroups, too: for every cgroup of every side, before the first fold. */
bool comparison_wants_cgroups(Comparison *comparison);
_must_check_ int comparison_census_cgroup(Comparison *comparison, Span path);
/* One thread of a column, as column_table_add() takes it. */
_must_check_ int comparison_add(Comparison *comparison, unsigned column, const ThreadSample *before,
                                const ThreadSample *after);
/* A row of the ledger at the @end of an interval. */
_must_check_ int comparison_add_ended(Comparison *comparison, unsigned column, Side end,
                                      const ExitedRow *row);

/*
 * Says, after all threads and rows, that the ledger of an interval lost names: what threads did
 * that ended is in no group then. It is known all the same who they were, and so is the coverage.
 */
void comparison_lose_names(Comparison *comparison, unsigned column);

/*
 * Says what the host did in an interval, or up to the snapshot of a column. Not called: nothing is
 * known of it.
 */
void comparison_set_host(Comparison *comparison, unsigned column, const HostUse *host);
/*
 * Why waits were not counted by reason all the time, which JSON says. Borrowed until the comparison
 * is freed. Not called: they were.
 */
void comparison_lack_reasons(Comparison *comparison, unsigned column, const char *why);
/*
 * @sources[side] explains why values are absent: borrowed until the comparison is freed; NULL when
 * the file records no sources (format version 0) or there is no such side.
 */
_must_check_ int comparison_finish(Comparison *comparison,
                                   const SourceTable *const sources[static SIDES]);

/* output, after comparison_finish() */

/* The number of objects of @list. The limit of the view applies to each list. */
size_t comparison_n(const Comparison *comparison, ComparisonList list);
/*
 * Writes the @index-th object of @list: tens of kilobytes at most for names of usual length. May be
 * called any number of times. @writer remembers failures.
 */
void comparison_write(const Comparison *comparison, ComparisonList list, size_t index,
                      JsonWriter *writer);

/*
 * Groups of all lists that the filter of the view lets through, all of them without a filter; also
 * those beyond the limit and those that have no row left.
 */
uint64_t comparison_n_matched(const Comparison *comparison);
/*
 * Rows that are hidden. changed_only hides rows that are unchanged or absent on both sides (with
 * one side: absent), and of a group that was born in an interval what it did not do
 * (group_context_rows()); the threshold hides rows that changed by no more than it. A group that
 * has no row left is hidden, too, before the limit is applied. Rows of groups beyond the limit,
 * rows that the view does not want and one-sided lists do not count, and in a view without rows
 * none do.
 */
uint64_t comparison_hidden_rows(const Comparison *comparison);
/*
 * Counts what is above the threshold of the view: rows, counters that were reset included, and
 * groups that only one side has; also beyond the limit. 0 without a threshold or with one side.
 */
uint64_t comparison_rows_above_threshold(const Comparison *comparison);
/* Groups whose changes are written. */
#define COMPARISON_MAX_CHANGED 32
/*
 * Writes what all threads of a group had in common on each side and what differs, their policy and
 * their CPUs, as elements Change of an open array: of the heaviest groups that pass the filter of
 * the view. That they may use all CPUs of two hosts of different size is no change. The comparison
 * has two sides. 0 or -ENOMEM, and then nothing was written.
 */
_must_check_ int comparison_write_changes(const Comparison *comparison, JsonWriter *writer);
/*
 * Writes the member "waits" of the interface, of two intervals: the groups of which threads wait
 * for something else than before, by how much. 0 or -ENOMEM.
 */
_must_check_ int comparison_write_waits(const Comparison *comparison, JsonWriter *writer);
/* Pairs of cgroups that became one group although their keys differ (pairing.h). */
size_t comparison_n_pairings(const Comparison *comparison);
/* Writes the array "pairings" of the interface: the first PAIRING_MAX_WRITTEN. */
void comparison_write_pairings(const Comparison *comparison, JsonWriter *writer);
/*
 * All threads of an interval, also those of groups that are not shown, and how much of the host
 * they account for. Call after comparison_finish().
 */
const LifeCounts *comparison_lives(const Comparison *comparison, unsigned column);
const Coverage *comparison_coverage(const Comparison *comparison, unsigned column);
/* The former name of a cgroup: see pairing_append_old_name(). */
_must_check_ int comparison_append_old_cgroup(const Comparison *comparison, Span key, Buffer *name);
/* The number of objects of @list beyond the limit of the view. */
uint64_t comparison_hidden(const Comparison *comparison, ComparisonList list);
