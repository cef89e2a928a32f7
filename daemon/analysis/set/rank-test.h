/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RankTest
 *
 * The two-sided Mann-Whitney U test of two samples: the probability of ranks at least as lopsided
 * as these if both samples come from one distribution. U is the number of pairs in which the value
 * of the second sample is larger, ties counting half; p is the probability of |U - n1 n2 / 2| or
 * more over all ways to deal the pooled values to the two samples.
 *
 * The test is exact at any size, also with ties: the deals are counted over the doubled mid-ranks,
 * in doubles, so the relative error of p is below 10^-12. The normal approximation is not used:
 * with few values or many ties it is wrong by factors in the tails, where it matters.
 *
 * Distributions depend only on the ties and are cached: most rows of a host have no ties or a few.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"

#define RANK_TEST_MAX_POOLED 64 /* values of both samples together */

typedef struct RankTest RankTest;

typedef struct RankResult {
        double u;
        double p; /* above 0, at most 1 */
        /* The smallest p of all ways to deal these values: with many ties it is not small. */
        double least_p;
} RankResult;

_must_check_ int rank_test_new(RankTest **ret);
RankTest *rank_test_free(RankTest *test);
DEFINE_CLEANUP(RankTest *, rank_test_free);

/*
 * @before and @after: finite numbers, in any order; at least one each, RANK_TEST_MAX_POOLED
 * together. 0 or -ENOMEM.
 */
_must_check_ int rank_test_run(RankTest *test, const double *before, size_t n_before,
                               const double *after, size_t n_after, RankResult *ret);

/*
 * The smallest p that samples of these sizes can have, which they have if they do not overlap: 2 /
 * C(n1 + n2, n1), and 1 if one is empty.
 */
double rank_test_least_p(size_t n_before, size_t n_after);
/*
 * The smallest size of both samples at which a single row among @n_rows can have an adjusted p
 * (false_discovery_adjust()) below @alpha, which is above 0; at most RANK_TEST_MAX_POOLED / 2.
 */
size_t rank_test_enough(size_t n_rows, double alpha);

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

/* A row with samples on both sides. */
typedef struct SetTest {
        double u, p;
        double least_p;  /* the smallest p that these values can have */
        double adjusted; /* NAN: not in the family */
} SetTest;

/* The rows over which p-values are adjusted. */
typedef struct SetFamily {
        size_t n_tested;      /* rows in it */
        size_t n_significant; /* those with an adjusted p below alpha */
        /* The smallest p that a row of the family can have with its samples; 1: no test. */
        double least_p;
        /*
         * False when no row could have been significant, however its samples had fallen to the
         * sides, because they are too few for so many rows.
         */
        bool could_succeed;
        /*
         * The samples per side that a single row would need to be significant among all rows that
         * would then be in the family; 0 when there are enough, or nothing varies.
         */
        size_t n_needed;
} SetFamily;

/*
 * Tests the samples of one row, which are not all equal. Too few of them: *ret_is_tested is false;
 * a row that more samples would bring into the family is counted in *n_short. 0 or -ENOMEM.
 */
_must_check_ int set_test_run(RankTest *test, const double *before, size_t n_before,
                              const double *after, size_t n_after, double alpha, size_t *n_short,
                              SetTest *ret, bool *ret_is_tested);
/* Makes the family of @tests, and adjusts their p. 0 or -ENOMEM. */
_must_check_ int set_family_settle(SetTest *tests, size_t n_tests, size_t n_short, double alpha,
                                   SetFamily *ret);
