/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RankTest
 *
 * The Mann-Whitney U test of two samples, two-sided: how likely ranks at least as lopsided as these
 * are when both samples come from one distribution. U is the number of pairs in which the second
 * sample's value is the larger, ties counting half; p is that of |U - n1 n2 / 2| or more, over all
 * ways to deal the pooled values out to the two samples.
 *
 * It is exact, ties included, at any size: the deals are counted over the doubled mid-ranks, in
 * doubles, so that p is off by less than a part in 10^12. No approximation is used: with few values
 * or many ties the normal one is wrong by factors where it matters, far out.
 *
 * Distributions depend on the ties alone and are remembered, since most rows of a host have the
 * same: none, or a few.
 */

#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"

#define RANK_TEST_MAX_POOLED 64 /* values of both samples together */

typedef struct RankTest RankTest;

typedef struct RankResult {
        double u;
        double p; /* above 0, at most 1 */
        /* The least p of all ways to deal these values out: with many ties none is small. */
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
 * The least p that samples of these sizes can have, which takes that they do not overlap:
 * 2 / C(n1 + n2, n1), and 1 where one is empty.
 */
double rank_test_least_p(size_t n_before, size_t n_after);
/*
 * The least equal size of both samples with which one row alone among @n_rows can have an adjusted
 * p (false-discovery.h) below @alpha, which is above 0; at most RANK_TEST_MAX_POOLED / 2.
 */
size_t rank_test_enough(size_t n_rows, double alpha);
