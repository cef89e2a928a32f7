/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetFamily
 *
 * The tests of all rows, over which p-values are adjusted, and each row with its test. Figures are
 * computed from the samples on demand; only the results of tests are kept.
 *
 * The weight of a group tells how much it matters in two sets of captures: it is the share of the
 * host that moved more (weight.h), by the account (account.h) of one second on each side, which has
 * the medians over the intervals. A side that has no thread of the group did nothing there; nothing
 * is known of one that has some whose work no interval tells.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/account/account.h"
#include "analysis/compare/order.h"
#include "analysis/compare/row.h"
#include "analysis/group/host-use.h"
#include "analysis/set/set-group.h"
#include "base/macro.h"
#include "json/json-writer.h"
#include "view/view.h"

/*
 * Adjusts the p-values of many tests by the method of Benjamini and Hochberg: among the tests whose
 * adjusted p is below alpha, the expected share of false positives is below alpha. Without it,
 * testing the three thousand rows of a host at 0.05 each would yield a hundred and fifty false
 * positives. The method holds for tests that are independent or positively dependent; the rows of
 * one host, where one cause changes several, mostly are.
 */

/*
 * Replaces each p-value, from 0 to 1, by the adjusted one: the minimum of n p / rank over itself
 * and all larger ones, at most 1. 0 or -ENOMEM.
 */
_must_check_ int false_discovery_adjust(double *p, size_t n);

typedef struct SetTest {
        double u, p;
        double least_p;  /* the smallest p that these values can have */
        double adjusted; /* NAN: not in the family */
} SetTest;

typedef struct SetFamily {
        const View *view;             /* borrowed */
        const SetRowList *list;       /* borrowed */
        uint64_t sides[SIDES];        /* the captures of each side, a bit each */
        KernelDefects defects[SIDES]; /* of any of their kernels */
        HostUse hosts[SIDES];         /* in one second */
        double alpha;
        double window_ns;  /* mean length of the intervals; 0: there is none */
        ImpactScale scale; /* for rates and for the number of threads */
        SetTest *tests;    /* owned by who owns the family */
        size_t n_tests, n_allocated;
        size_t n_able;   /* those that could be significant if they were alone */
        size_t n_family; /* those in the family */
        size_t n_short;  /* rows that vary and would be in the family with more samples */
        size_t n_significant;
        double least_p; /* the smallest p that a row of the family can have */
} SetFamily;

/* One row of one group with its test. */
typedef struct SetRowView {
        Row row; /* values are medians */
        Quartiles sides[SIDES];
        const SetTest *test; /* borrowed; NULL: not tested */
        bool is_in_family;
} SetRowView;

/*
 * Tests the rows of all groups. Groups that the filter of the view matches form the family; all
 * groups form the host that impacts refer to. 0 or -ENOMEM.
 */
_must_check_ int set_family_test(SetFamily *family, SetGroup *const *groups, size_t n_groups);
void set_family_view(const SetFamily *family, const SetGroup *group, size_t slot, SetRowView *ret);
/* The row is significant and above the threshold. */
bool set_family_is_above(const SetFamily *family, const SetRowView *row);

/* One side of a group. Its account has only the members below "rates" of SetGroup. */
typedef struct SetRates {
        bool has_group; /* some capture of the side has threads of the group */
        Account second; /* what the group did in a second */
} SetRates;

/*
 * Finds the weight: the share that moved more, after minus before. A host of unknown size counts as
 * one CPU. False: unknown.
 */
bool set_weight_find(const SetFamily *family, const SetGroup *group,
                     SetRates ret_rates[static SIDES], double *ret);
