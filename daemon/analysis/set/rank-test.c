/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/rank-test.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"

#define N_REMEMBERED 512 /* distributions; a power of two */

/* Pooled ranks, doubled so that mid-ranks are integers. */
typedef struct Ranks {
        unsigned doubled[RANK_TEST_MAX_POOLED]; /* ascending */
        size_t n;
        uint64_t ties;        /* bit i: ranks i and i+1 are equal; with n it determines the ranks */
        unsigned doubled_sum; /* of the smaller sample */
        unsigned mean_sum;    /* the mean of such sums; that of a single doubled rank is n + 1 */
        size_t n_smaller;
        double u;
} Ranks;

/* P(|S - E| >= d) for every distance d that a sum S of doubled ranks can have from its mean E. */
typedef struct Distribution {
        uint64_t ties;
        size_t n, n_smaller;
        double *tails; /* owned; NULL: not there */
        double least;  /* of the tails that can occur */
} Distribution;

struct RankTest {
        Distribution remembered[N_REMEMBERED];
        double *counts; /* owned: work space, one row of sums for each number of chosen ranks */
        size_t n_counts;
};

int rank_test_new(RankTest **ret) {
        RankTest *test = calloc(1, sizeof(*test));

        if (!test)
                return -ENOMEM;
        *ret = test;
        return 0;
}

RankTest *rank_test_free(RankTest *test) {
        if (!test)
                return NULL;
        for (size_t i = 0; i < N_REMEMBERED; i++)
                free(test->remembered[i].tails);
        free(test->counts);
        free(test);
        return NULL;
}

/* ranks */

typedef struct Pooled {
        double value;
        bool is_after;
} Pooled;

static int by_value(const void *a, const void *b) {
        const Pooled *left = a, *right = b;

        return left->value < right->value ? -1 : left->value > right->value;
}

static void ranks_init(Ranks *ranks, const double *before, size_t n_before, const double *after,
                       size_t n_after) {
        Pooled pooled[RANK_TEST_MAX_POOLED];
        bool after_is_smaller = n_after < n_before;
        unsigned sums[2] = { 0, 0 };

        assert(n_before > 0 && n_after > 0 && n_before + n_after <= RANK_TEST_MAX_POOLED);
        *ranks = (Ranks){ .n = n_before + n_after,
                          .n_smaller = after_is_smaller ? n_after : n_before };
        ranks->mean_sum = (unsigned) (ranks->n_smaller * (ranks->n + 1));
        for (size_t i = 0; i < ranks->n; i++) {
                pooled[i].is_after = i >= n_before;
                pooled[i].value = pooled[i].is_after ? after[i - n_before] : before[i];
        }
        qsort(pooled, ranks->n, sizeof(*pooled), by_value);

        for (size_t first = 0, next; first < ranks->n; first = next) {
                for (next = first + 1; next < ranks->n; next++) {
                        if (by_value(&pooled[first], &pooled[next]) != 0)
                                break;
                        ranks->ties |= UINT64_C(1) << (next - 1);
                }
                for (size_t i = first; i < next; i++) {
                        /* twice the mean of first+1 ... next */
                        ranks->doubled[i] = (unsigned) (first + 1 + next);
                        sums[pooled[i].is_after] += ranks->doubled[i];
                }
        }
        ranks->doubled_sum = sums[after_is_smaller];
        ranks->u = ((double) sums[true] - (double) (n_after * (n_after + 1))) / 2;
}

/* the exact distribution */

/*
 * counts[k][s] is the number of ways to choose k ranks with sum s, built up rank by rank. A sum of
 * k ranks is at most k times the largest rank so far.
 */
static void count_deals(double *counts, const Ranks *ranks, size_t n_sums) {
        counts[0] = 1;
        for (size_t i = 0; i < ranks->n; i++) {
                size_t rank = ranks->doubled[i];

                for (size_t k = MIN_OF(ranks->n_smaller, i + 1); k > 0; k--) {
                        const double *restrict from = counts + (k - 1) * n_sums;
                        double *restrict to = counts + k * n_sums;

                        for (size_t sum = rank; sum <= k * rank; sum++)
                                to[sum] += from[sum - rank];
                }
        }
}

static int distribution_init(Distribution *distribution, RankTest *test, const Ranks *ranks) {
        size_t mean = ranks->mean_sum;
        size_t n_sums = ranks->n_smaller * ranks->doubled[ranks->n - 1] + 1;
        /* U is between 0 and n1 n2, so twice its distance from the middle is at most n1 n2. */
        size_t n_tails = ranks->n_smaller * (ranks->n - ranks->n_smaller) + 1;
        size_t n_counts = (ranks->n_smaller + 1) * n_sums;
        double all = 0, least = 1, *tails;
        const double *sums;

        if (n_counts > test->n_counts) {
                double *counts = realloc(test->counts, n_counts * sizeof(*counts));

                if (!counts)
                        return -ENOMEM;
                test->counts = counts;
                test->n_counts = n_counts;
        }
        for (size_t i = 0; i < n_counts; i++)
                test->counts[i] = 0;
        tails = calloc(n_tails, sizeof(*tails));
        if (!tails)
                return -ENOMEM;
        count_deals(test->counts, ranks, n_sums);

        sums = test->counts + ranks->n_smaller * n_sums;
        for (size_t sum = 0; sum < n_sums; sum++) {
                size_t off = sum > mean ? sum - mean : mean - sum;

                if (off < n_tails)
                        tails[off] += sums[sum];
                all += sums[sum];
        }
        for (size_t off = n_tails - 1; off > 0; off--)
                tails[off - 1] += tails[off];
        for (size_t off = 0; off < n_tails && tails[off] > 0; off++) {
                tails[off] /= all;
                least = tails[off];
        }

        free(distribution->tails);
        *distribution = (Distribution){
                .ties = ranks->ties,
                .n = ranks->n,
                .n_smaller = ranks->n_smaller,
                .tails = tails,
                .least = least,
        };
        return 0;
}

int rank_test_run(RankTest *test, const double *before, size_t n_before, const double *after,
                  size_t n_after, RankResult *ret) {
        Distribution *known;
        Ranks ranks;
        uint64_t hash;
        int r;

        ranks_init(&ranks, before, n_before, after, n_after);
        hash = (ranks.ties ^ ranks.n << 8 ^ ranks.n_smaller) * UINT64_C(0x9e3779b97f4a7c15);
        known = &test->remembered[hash >> 32 & (N_REMEMBERED - 1)];
        if (!known->tails || known->ties != ranks.ties || known->n != ranks.n ||
            known->n_smaller != ranks.n_smaller) {
                r = distribution_init(known, test, &ranks);
                if (r != 0)
                        return r;
        }
        *ret = (RankResult){
                .u = ranks.u,
                .p = known->tails[ranks.doubled_sum > ranks.mean_sum
                                          ? ranks.doubled_sum - ranks.mean_sum
                                          : ranks.mean_sum - ranks.doubled_sum],
                .least_p = known->least,
        };
        return 0;
}

/* sizes */

double rank_test_least_p(size_t n_before, size_t n_after) {
        double p = 2;

        if (n_before == 0 || n_after == 0)
                return 1;
        for (size_t i = 1; i <= n_before; i++)
                p *= (double) i / (double) (n_after + i);
        return fmin(p, 1);
}

size_t rank_test_enough(size_t n_rows, double alpha) {
        size_t n = 1;

        /* Each step divides the smallest p by nearly four. */
        while (n < RANK_TEST_MAX_POOLED / 2 && rank_test_least_p(n, n) * (double) n_rows >= alpha)
                n++;
        return n;
}

/* false discoveries */

typedef struct Ranked {
        double p;
        size_t index;
} Ranked;

static int by_p(const void *a, const void *b) {
        const Ranked *left = a, *right = b;

        if (left->p < right->p)
                return -1;
        if (left->p > right->p)
                return 1;
        return left->index < right->index ? -1 : left->index > right->index;
}

int false_discovery_adjust(double *p, size_t n) {
        Ranked *ranked;
        double least = 1;

        if (n == 0)
                return 0;
        ranked = calloc(n, sizeof(*ranked));
        if (!ranked)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ranked[i] = (Ranked){ p[i], i };
        qsort(ranked, n, sizeof(*ranked), by_p);
        for (size_t rank = n; rank > 0; rank--) {
                double scaled = ranked[rank - 1].p * (double) n / (double) rank;

                least = MIN_OF(least, scaled);
                p[ranked[rank - 1].index] = least;
        }
        free(ranked);
        return 0;
}

/* families */

#define LEAST_SAMPLES 2 /* per side: one sample says nothing about the scatter */

int set_test_run(RankTest *test, const double *before, size_t n_before, const double *after,
                 size_t n_after, double alpha, size_t *n_short, SetTest *ret, bool *ret_is_tested) {
        RankResult result;
        int r;

        /* It varies and would be in the family with more samples. */
        if (rank_test_least_p(n_before, n_after) >= alpha)
                (*n_short)++;
        *ret_is_tested = n_before >= LEAST_SAMPLES && n_after >= LEAST_SAMPLES;
        if (!*ret_is_tested)
                return 0;
        r = rank_test_run(test, before, n_before, after, n_after, &result);
        if (r == 0)
                *ret = (SetTest){ .u = result.u, .p = result.p, .least_p = result.least_p };
        return r;
}

int set_family_settle(SetTest *tests, size_t n_tests, size_t n_short, double alpha,
                      SetFamily *ret) {
        SetFamily family = { .least_p = 1 };
        size_t n_able = 0, n = 0;
        double *p;
        int r;

        /*
         * A row that could not be significant even alone, because its samples are few or equal,
         * would only weaken the others. That depends only on the number of samples and on their
         * pooled values, so leaving it out is unbiased. If all rows are such, they form the family
         * and show how far from significance they are.
         */
        for (size_t i = 0; i < n_tests; i++)
                n_able += tests[i].least_p < alpha;
        p = calloc(n_tests + 1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < n_tests; i++) {
                SetTest *tested = &tests[i];

                tested->adjusted = NAN;
                if (n_able > 0 && !(tested->least_p < alpha))
                        continue;
                tested->adjusted = p[family.n_tested++] = tested->p;
                family.least_p = fmin(family.least_p, tested->least_p);
        }
        r = false_discovery_adjust(p, family.n_tested);
        for (size_t i = 0; i < n_tests && r == 0; i++) {
                SetTest *tested = &tests[i];

                if (isnan(tested->adjusted))
                        continue;
                tested->adjusted = p[n++];
                family.n_significant += tested->adjusted < alpha;
        }
        free(p);
        family.could_succeed =
                family.n_significant > 0 ||
                (family.n_tested > 0 && family.least_p * (double) family.n_tested < alpha);
        if (n_short > 0 || (n_able > 0 && !(family.least_p * (double) n_able < alpha)))
                family.n_needed = rank_test_enough(n_able + n_short, alpha);
        *ret = family;
        return r;
}
