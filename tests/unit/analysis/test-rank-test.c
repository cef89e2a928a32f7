/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <math.h>
#include <stdint.h>

#include "analysis/set/rank-test.h"

static RankTest *test;

static void setup(void) {
        ck_assert_int_eq(rank_test_new(&test), 0);
}

static void teardown(void) {
        test = rank_test_free(test);
}

static RankResult run(const double *before, size_t n_before, const double *after, size_t n_after) {
        RankResult result;

        ck_assert_int_eq(rank_test_run(test, before, n_before, after, n_after, &result), 0);
        return result;
}

/* p of two samples with n_1 and n_2 distinct values whose U is @u. */
static double p_of_u(size_t n_1, size_t n_2, unsigned u) {
        double before[RANK_TEST_MAX_POOLED], after[RANK_TEST_MAX_POOLED];
        RankResult result;

        /* The values after are even; each value before is placed above its share of them. */
        for (size_t i = 0; i < n_2; i++)
                after[i] = 100 * (double) (i + 1);
        for (size_t i = 0; i < n_1; i++) {
                unsigned n_below = (unsigned) MIN_OF((size_t) u, n_2);

                before[i] = 100 * (double) n_below + 10 + (double) i;
                u -= n_below;
        }
        ck_assert_uint_eq(u, 0);
        result = run(before, n_1, after, n_2);
        return result.p;
}

/* The largest U that is significant, two-sided, from the usual tables. */
static const struct {
        size_t n_1, n_2;
        double alpha;
        unsigned critical;
} critical_rows[] = {
        { 4, 4, 0.05, 0 },    { 5, 5, 0.05, 2 },     { 6, 6, 0.05, 5 },    { 7, 7, 0.05, 8 },
        { 8, 8, 0.05, 13 },   { 9, 9, 0.05, 17 },    { 10, 10, 0.05, 23 }, { 12, 12, 0.05, 37 },
        { 15, 15, 0.05, 64 }, { 20, 20, 0.05, 127 }, { 3, 5, 0.05, 0 },    { 4, 9, 0.05, 4 },
        { 5, 8, 0.05, 6 },    { 6, 10, 0.05, 11 },   { 8, 14, 0.05, 26 },  { 10, 20, 0.05, 55 },
        { 5, 5, 0.01, 0 },    { 6, 6, 0.01, 2 },     { 7, 7, 0.01, 4 },    { 8, 8, 0.01, 7 },
        { 9, 9, 0.01, 11 },   { 10, 10, 0.01, 16 },  { 15, 15, 0.01, 51 }, { 20, 20, 0.01, 105 },
        { 4, 8, 0.01, 1 },    { 7, 12, 0.01, 12 },
};

START_TEST(critical_values_are_those_of_the_tables) {
        size_t n_1 = critical_rows[_i].n_1, n_2 = critical_rows[_i].n_2;
        unsigned critical = critical_rows[_i].critical;

        ck_assert(p_of_u(n_1, n_2, critical) <= critical_rows[_i].alpha);
        ck_assert(p_of_u(n_1, n_2, critical + 1) > critical_rows[_i].alpha);
        /* Either sample may be the smaller. */
        ck_assert(p_of_u(n_2, n_1, critical) <= critical_rows[_i].alpha);
        ck_assert(p_of_u(n_1, n_2, (unsigned) (n_1 * n_2) - critical) <= critical_rows[_i].alpha);
}
END_TEST

/* Probabilities of U or less in one tail, to three places, as published for small samples. */
static const struct {
        size_t n_1, n_2;
        unsigned u;
        double p;
} tail_rows[] = {
        { 3, 3, 0, 0.050 }, { 3, 3, 1, 0.100 }, { 3, 3, 2, 0.200 }, { 3, 3, 3, 0.350 },
        { 4, 4, 0, 0.014 }, { 4, 4, 1, 0.029 }, { 4, 4, 2, 0.057 }, { 4, 4, 3, 0.100 },
        { 4, 4, 4, 0.171 }, { 4, 4, 5, 0.243 }, { 5, 5, 4, 0.048 }, { 1, 2, 0, 0.333 },
        { 2, 4, 1, 0.133 }, { 2, 5, 0, 0.048 }, { 3, 4, 1, 0.057 },
};

START_TEST(tails_are_those_of_the_tables) {
        double p = p_of_u(tail_rows[_i].n_1, tail_rows[_i].n_2, tail_rows[_i].u);

        ck_assert_double_eq_tol(p, fmin(2 * tail_rows[_i].p, 1), 0.00101);
}
END_TEST

START_TEST(u_counts_the_pairs_in_which_after_is_more) {
        static const double low[] = { 1, 2, 3 }, high[] = { 4, 5 }, mixed[] = { 2, 9 };

        ck_assert_double_eq(run(low, 3, high, 2).u, 6);
        ck_assert_double_eq(run(high, 2, low, 3).u, 0);
        ck_assert_double_eq(run(low, 3, mixed, 2).u, 4.5); /* 1 < 2, 2 = 2, all < 9 */
}
END_TEST

START_TEST(equal_values_are_no_evidence) {
        static const double same[] = { 7, 7, 7, 7, 7, 7, 7, 7, 7 };

        ck_assert_double_eq(run(same, 9, same, 9).p, 1);
        ck_assert_double_eq(run(same, 9, same, 9).least_p, 1);
        ck_assert_double_eq(run(same, 1, same, 1).p, 1);
        ck_assert_double_eq(run(same, 9, same, 9).u, 40.5);
}
END_TEST

/* The definition: tries every way to choose n_1 of the pooled values. */
static double p_by_trying(const double *before, size_t n_1, const double *after, size_t n_2) {
        double pooled[16], u_observed = 0, n_as_far = 0, n_all = 0;
        size_t n = n_1 + n_2;

        for (size_t i = 0; i < n; i++)
                pooled[i] = i < n_1 ? before[i] : after[i - n_1];
        for (unsigned chosen = (1u << n_1) - 1, first = chosen; chosen < 1u << n; chosen++) {
                double u = 0;

                if ((size_t) __builtin_popcount(chosen) != n_1)
                        continue;
                for (size_t i = 0; i < n; i++)
                        for (size_t j = 0; j < n; j++)
                                if ((chosen >> i & 1) && !(chosen >> j & 1))
                                        u += pooled[j] > pooled[i]   ? 1
                                             : pooled[j] < pooled[i] ? 0
                                                                     : 0.5;
                if (chosen == first)
                        u_observed = u;
                n_all++;
                n_as_far += fabs(u - (double) (n_1 * n_2) / 2) >=
                            fabs(u_observed - (double) (n_1 * n_2) / 2);
        }
        return n_as_far / n_all;
}

/* Its own generator gives the same numbers everywhere. */
static unsigned draw(uint64_t *state, unsigned n) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned) (*state >> 33) % n;
}

START_TEST(ties_are_counted_as_by_trying_every_deal) {
        uint64_t state = 1 + (uint64_t) _i;

        for (unsigned round = 0; round < 60; round++) {
                double before[5], after[6];
                size_t n_1 = 1 + draw(&state, 5), n_2 = 1 + draw(&state, 6);
                unsigned n_values = 1 + draw(&state, 8);
                double p, expected;

                for (size_t i = 0; i < n_1; i++)
                        before[i] = draw(&state, n_values);
                for (size_t i = 0; i < n_2; i++)
                        after[i] = draw(&state, n_values);
                p = run(before, n_1, after, n_2).p;
                expected = p_by_trying(before, n_1, after, n_2);
                ck_assert_double_eq_tol(p, expected, 1e-12);
                ck_assert(p > 0 && p <= 1);
                /* Neither the order of the sides nor that of the values matters. */
                ck_assert_double_eq_tol(run(after, n_2, before, n_1).p, expected, 1e-12);
        }
}
END_TEST

START_TEST(no_two_rows_share_a_distribution_that_is_not_theirs) {
        /* Alternates between more patterns of ties than are cached. */
        double first[2][256];

        for (unsigned round = 0; round < 2; round++)
                for (unsigned i = 0; i < 256; i++) {
                        double before[5], after[4], value = 0;

                        for (unsigned bit = 0; bit < 9; bit++) {
                                value += i >> bit & 1;
                                if (bit % 2 == 0)
                                        before[bit / 2] = value;
                                else
                                        after[bit / 2] = value;
                        }
                        first[round][i] = run(before, 5, after, 4).p;
                        ck_assert_double_eq_tol(first[round][i], p_by_trying(before, 5, after, 4),
                                                1e-12);
                }
}
END_TEST

static const struct {
        size_t n_zeros; /* of the 16 values; all others differ */
        double least_p;
} tied_rows[] = {
        { 0, 2.0 / 12870 },
        { 1, 2.0 / 12870 },
        { 8, 2.0 / 12870 },
        { 16, 1 },
        { 15, 1 },                     /* the odd one is on either side */
        { 14, 2.0 * 8 * 7 / 2 / 120 }, /* both are on one side */
        { 12, 2.0 * 70 / 1820 },
};

START_TEST(ties_bound_what_p_can_be) {
        double values[16];

        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                values[i] = i < tied_rows[_i].n_zeros ? 0 : (double) (i + 1);
        ck_assert_double_eq_tol(run(values, 8, values + 8, 8).least_p, tied_rows[_i].least_p,
                                1e-12);
}
END_TEST

START_TEST(the_largest_samples_keep_their_precision) {
        double low[RANK_TEST_MAX_POOLED / 2], high[RANK_TEST_MAX_POOLED / 2];
        double least = rank_test_least_p(32, 32);
        RankResult result;

        for (size_t i = 0; i < ELEMENTSOF(low); i++) {
                low[i] = -1e300 + 1e290 * (double) i;
                high[i] = (double) i;
        }
        result = run(low, 32, high, 32);
        ck_assert_double_eq(result.u, 32 * 32);
        ck_assert_double_eq_tol(result.p / least, 1, 1e-12);
        ck_assert_double_eq_tol(least / (2 / 1.832624140942590e18), 1, 1e-12);
}
END_TEST

static const struct {
        size_t n_1, n_2;
        double p;
} least_rows[] = {
        { 0, 9, 1 },        { 9, 0, 1 },           { 1, 1, 1 },           { 3, 3, 2.0 / 20 },
        { 4, 4, 2.0 / 70 }, { 8, 8, 2.0 / 12870 }, { 9, 9, 2.0 / 48620 }, { 2, 5, 2.0 / 21 },
};

START_TEST(the_least_p_is_one_deal_of_all_and_its_mirror) {
        size_t n_1 = least_rows[_i].n_1, n_2 = least_rows[_i].n_2;

        ck_assert_double_eq_tol(rank_test_least_p(n_1, n_2), least_rows[_i].p, 1e-15);
        if (n_1 > 0 && n_2 > 0)
                ck_assert_double_eq_tol(p_of_u(n_1, n_2, 0), least_rows[_i].p, 1e-15);
}
END_TEST

static const struct {
        size_t n_rows;
        double alpha;
        size_t n;
} enough_rows[] = {
        { 1, 0.05, 4 },     { 1, 0.06, 4 },   { 1, 0.2, 3 },
        { 1, 0.01, 5 },     { 321, 0.05, 8 }, { 322, 0.05, 9 },
        { 3000, 0.05, 10 }, { 1, 1, 2 },      { SIZE_MAX, 1e-300, RANK_TEST_MAX_POOLED / 2 },
};

START_TEST(enough_is_the_first_size_that_reaches_alpha) {
        size_t n_rows = enough_rows[_i].n_rows, n = enough_rows[_i].n;

        ck_assert_uint_eq(rank_test_enough(n_rows, enough_rows[_i].alpha), n);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("rank-test");
        TCase *tests = tcase_create("rank-test");

        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_loop_test(tests, critical_values_are_those_of_the_tables, 0,
                            ELEMENTSOF(critical_rows));
        tcase_add_loop_test(tests, tails_are_those_of_the_tables, 0, ELEMENTSOF(tail_rows));
        tcase_add_test(tests, u_counts_the_pairs_in_which_after_is_more);
        tcase_add_test(tests, equal_values_are_no_evidence);
        tcase_add_loop_test(tests, ties_are_counted_as_by_trying_every_deal, 0, 4);
        tcase_add_test(tests, no_two_rows_share_a_distribution_that_is_not_theirs);
        tcase_add_loop_test(tests, ties_bound_what_p_can_be, 0, ELEMENTSOF(tied_rows));
        tcase_add_test(tests, the_largest_samples_keep_their_precision);
        tcase_add_loop_test(tests, the_least_p_is_one_deal_of_all_and_its_mirror, 0,
                            ELEMENTSOF(least_rows));
        tcase_add_loop_test(tests, enough_is_the_first_size_that_reaches_alpha, 0,
                            ELEMENTSOF(enough_rows));
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
