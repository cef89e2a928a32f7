/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SetFamily
 *
 * The tests of all rows together, which is what p-values are adjusted over, and what a row looks
 * like by them. Figures are computed from the samples whenever they are asked for; only what took a
 * test is kept.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "analysis/compare/impact.h"
#include "analysis/compare/row.h"
#include "analysis/set/set-group.h"
#include "view/view.h"

typedef struct SetTest {
        double u, p;
        double least_p;  /* with these values, however they fall */
        double adjusted; /* NAN: it is not in the family */
} SetTest;

typedef struct SetFamily {
        const View *view;       /* borrowed */
        const SetRowList *list; /* borrowed */
        uint64_t sides[SIDES];  /* which captures are of each side */
        double alpha;
        double window_ns;  /* how long windows are on average; 0: there is none */
        ImpactScale scale; /* of rates, and of the number of threads */
        SetTest *tests;    /* owned */
        size_t n_tests, n_allocated;
        size_t n_family; /* of them: what p is adjusted over */
        size_t n_short;  /* rows that vary, and with more samples could be in the family */
        size_t n_significant;
        double least_p; /* that any row of the family can have */
} SetFamily;

/* One row of one group by its family. */
typedef struct SetRowView {
        Row row; /* values are medians */
        Quartiles sides[SIDES];
        const SetTest *test; /* borrowed; NULL: not tested */
        bool is_in_family;
        bool significant;
} SetRowView;

void set_family_done(SetFamily *family);
/*
 * Tests the rows of @groups, which are all there are: those that the view's filter lets through are
 * the family, all of them are the host that impacts are measured by. 0 or -ENOMEM.
 */
_must_check_ int set_family_test(SetFamily *family, SetGroup *const *groups, size_t n_groups);
/*
 * After the tests: how many samples a side one row alone would take to be significant, among all
 * rows that would then be in the family; 0 when there are as many, or nothing varies.
 */
size_t set_family_samples_needed(const SetFamily *family);

void set_family_view(const SetFamily *family, const SetGroup *group, size_t slot, SetRowView *ret);
/* The view's changed_only and threshold leave the row in. */
bool set_family_shows(const SetFamily *family, const SetRowView *row);
/* Significant, and moved by more than the threshold. */
bool set_family_is_above(const SetFamily *family, const SetRowView *row);
