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
 *     thread_groups_census()   for every thread of every snapshot, only when keys.has_census: a
 *                              pattern becomes a key only if two distinct names share it, and that
 *                              is known only after all names were seen
 *     thread_groups_census_cgroup()  for every cgroup of every side, if keys have cgroups
 *     column_table_add()       for every thread of every column again, columns in any order
 *     column_table_add_ended() for every row of the ledgers of an interval, if it has one
 *     comparison_finish()      once: reduces and orders everything
 *     comparison_write()       for the groups of each list that are shown
 *
 * Before the end each Column is also told what its host did, where that is known, that its ledger
 * lost names, and why waits were not counted by reason.
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
#include "analysis/compare/column-table.h"
#include "analysis/compare/group-json.h"
#include "analysis/compare/order.h"
#include "analysis/group/column.h"
#include "analysis/group/group.h"
#include "analysis/group/side.h"
#include "view/view.h"
#include "json/json-writer.h"
#include "snapshot/source.h"

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

/* Groups in the order of display, borrowed from the table. */
typedef struct GroupList {
        Group **groups; /* owned */
        size_t n_groups;
        size_t n_shown, n_hidden; /* the latter are beyond the limit of the view, of each list */
} GroupList;

typedef struct Comparison {
        View view;
        ColumnTable table; /* of all threads; also those of groups that are not shown */
        /*
         * The sides are of one boot and the second is the later one: counters only grew. 0: they
         * are not.
         */
        uint64_t elapsed_ns;
        GroupOrder order; /* of groups on all sides */

        /* after comparison_finish() */
        Uptimes uptimes;
        ImpactScale scale;
        GroupContext context; /* of groups on all sides */
        GroupList lists[_COMPARISON_LIST_MAX];
        /*
         * Groups of all lists that the filter of the view lets through, all of them without a
         * filter; also those beyond the limit and those that have no row left.
         */
        uint64_t n_matched;
        /*
         * Rows that are hidden. changed_only hides rows that are unchanged or absent on both sides
         * (with one side: absent), and of a group that was born in an interval what it did not do
         * (group_context_rows()); the threshold hides rows that changed by no more than it. A group
         * that has no row left is hidden, too, before the limit is applied. Rows of groups beyond
         * the limit, rows that the view does not want and one-sided lists do not count, and in a
         * view without rows none do.
         */
        uint64_t n_hidden_rows;
        /*
         * The number of rows that are above the threshold of the view, rows of counters that were
         * reset included, plus the number of groups that only one side has. Rows and groups beyond
         * the limit count, too. The number is 0 without a threshold or with one side.
         */
        uint64_t n_rows_above_threshold;
} Comparison;

/* @view is copied. */
_must_check_ int comparison_new(const View *view, const ComparisonSetup *setup, Comparison **ret);
Comparison *comparison_free(Comparison *comparison);
DEFINE_CLEANUP(Comparison *, comparison_free);

/*
 * @sources[side] explains why values are absent: borrowed until the comparison is freed; NULL when
 * the file records no sources (format version 0) or there is no such side. 0 or -ENOMEM.
 */
_must_check_ int comparison_finish(Comparison *comparison,
                                   const SourceTable *const sources[static SIDES]);

/* output, after comparison_finish() */

/*
 * Writes the @index-th object of @list: tens of kilobytes at most for names of usual length. May be
 * called any number of times. @writer remembers failures.
 */
void comparison_write(const Comparison *comparison, ComparisonList list, size_t index,
                      JsonWriter *writer);

/* Groups whose changes are written, unless their names take LIMIT_BATCH_BYTES before. */
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
