/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/spread.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "check-main.h"
#include "random-threads.h"
#include "thread.h"

/* the scale */

START_TEST(places_follow_each_other_and_are_at_most_one_percent_wide) {
        static const uint64_t numbers[] = { 0,
                                            1,
                                            127,
                                            128,
                                            129,
                                            130,
                                            255,
                                            256,
                                            1000,
                                            65535,
                                            UINT64_C(1) << 32,
                                            (UINT64_C(1) << 63) - 1,
                                            UINT64_C(1) << 63,
                                            UINT64_MAX - 1,
                                            UINT64_MAX };
        unsigned last = 0;

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                unsigned bucket = spread_bucket_of(numbers[i]);
                uint64_t middle = spread_bucket_middle(bucket);
                uint64_t off = middle > numbers[i] ? middle - numbers[i] : numbers[i] - middle;

                ck_assert_uint_ge(bucket, last);
                ck_assert_uint_lt(bucket, SPREAD_BUCKETS);
                ck_assert_uint_eq(spread_bucket_of(middle), bucket);
                ck_assert_uint_le(off, numbers[i] / 100);
                last = bucket;
        }
        ck_assert_uint_eq(last, SPREAD_BUCKETS - 1);
        for (unsigned bucket = 0; bucket < SPREAD_BUCKETS; bucket++)
                ck_assert_uint_eq(spread_bucket_of(spread_bucket_middle(bucket)), bucket);
}
END_TEST

/* Threads of one group and their expected figures. */

typedef struct Work {
        pid_t tid;
        const char *name;
        uint64_t value;
} Work;

typedef struct Fixture {
        Spread spread;
        SpreadNames *names;
} Fixture;

static int fold(Fixture *fixture, const Work *work) {
        ThreadSample sample = thread_of("p", work->name, work->tid);

        thread_sample_put(&sample, METRIC_run_time_ns, work->value);
        return spread_add_sample(&fixture->spread, fixture->names, &sample);
}

static Fixture fixture_of(const Work *works, size_t n) {
        Fixture fixture = { .names = NULL };

        fixture.names = calloc(1, sizeof(*fixture.names));
        ck_assert_ptr_nonnull(fixture.names);
        for (size_t i = 0; i < n; i++)
                ck_assert_int_eq(fold(&fixture, &works[i]), 0);
        return fixture;
}

static void fixture_done(Fixture *fixture) {
        spread_done(&fixture->spread);
        name_set_done(&fixture->names->set);
        free(fixture->names);
}

static SpreadFigures read_figures(const Fixture *fixture) {
        SpreadFigures figures;

        ck_assert(spread_read(&fixture->spread, fixture->names, METRIC_run_time_ns, &figures));
        return figures;
}

static void assert_top(const SpreadFigures *figures, pid_t tid, const char *name, uint64_t value) {
        ck_assert_int_eq(figures->top_tid, tid);
        ck_assert(span_is(figures->top_name, name));
        ck_assert_uint_eq(figures->top, value);
}

static int by_value(const void *a, const void *b) {
        uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

        return (left > right) - (left < right);
}

static void assert_near(uint64_t value, uint64_t exact) {
        uint64_t off = value > exact ? value - exact : exact - value;

        ck_assert_msg(off <= exact / 100, "%llu is not within 1 %% of %llu",
                      (unsigned long long) value, (unsigned long long) exact);
}

/* The sizes at which the representation changes, and some between and beyond. */
static const size_t counts[] = { 1,
                                 2,
                                 3,
                                 4,
                                 5,
                                 SPREAD_MAX_FEW,
                                 SPREAD_MAX_FEW + 1,
                                 50,
                                 99,
                                 100,
                                 101,
                                 1000,
                                 SPREAD_MAX_ROWS - 1,
                                 SPREAD_MAX_ROWS,
                                 SPREAD_MAX_ROWS + 1,
                                 3 * SPREAD_MAX_ROWS };

START_TEST(percentiles_are_within_one_percent_of_the_nearest_rank) {
        size_t n = counts[_i];
        uint64_t *values = calloc(n, sizeof(*values));
        Work *works = calloc(n, sizeof(*works));
        SpreadFigures figures;
        Fixture fixture;

        ck_assert(values && works);
        random_state = (uint64_t) _i;
        for (size_t i = 0; i < n; i++) {
                values[i] = random_u64() % 5 == 0 ? 0 : random_u64() >> random_u64() % 64;
                works[i] = (Work){ (pid_t) (i + 1), "worker", values[i] };
        }
        fixture = fixture_of(works, n);
        figures = read_figures(&fixture);
        qsort(values, n, sizeof(*values), by_value);
        ck_assert_uint_eq(figures.n_threads, n);
        ck_assert_uint_eq(figures.top, values[n - 1]);
        assert_near(figures.p50, values[(n * 50 + 99) / 100 - 1]);
        assert_near(figures.p99, values[(n * 99 + 99) / 100 - 1]);
        ck_assert_uint_le(figures.p50, figures.p99);
        ck_assert_uint_le(figures.p99, figures.top);
        fixture_done(&fixture);
        free(works);
        free(values);
}
END_TEST

START_TEST(small_numbers_are_exact_whatever_the_form) {
        size_t n = counts[_i];
        Work *works = calloc(n, sizeof(*works));
        SpreadFigures figures;
        Fixture fixture;

        ck_assert_ptr_nonnull(works);
        for (size_t i = 0; i < n; i++)
                works[i] = (Work){ (pid_t) (i + 1), "worker", i * 128 / n };
        fixture = fixture_of(works, n);
        figures = read_figures(&fixture);
        ck_assert_uint_eq(figures.p50, works[(n * 50 + 99) / 100 - 1].value);
        ck_assert_uint_eq(figures.p99, works[(n * 99 + 99) / 100 - 1].value);
        fixture_done(&fixture);
        free(works);
}
END_TEST

START_TEST(the_order_of_threads_does_not_matter) {
        size_t n = counts[_i];
        Work *works = calloc(n, sizeof(*works));
        SpreadFigures figures[2];
        Fixture fixtures[2];

        ck_assert_ptr_nonnull(works);
        random_state = (uint64_t) _i + 100;
        for (size_t i = 0; i < n; i++)
                works[i] = (Work){ (pid_t) (i + 1), i % 2 ? "odd" : "even", random_u64() % 1000 };
        fixtures[0] = fixture_of(works, n);
        for (size_t i = n; i > 1; i--) {
                size_t other = random_u64() % i;
                Work work = works[i - 1];

                works[i - 1] = works[other];
                works[other] = work;
        }
        fixtures[1] = fixture_of(works, n);
        for (size_t i = 0; i < 2; i++)
                figures[i] = read_figures(&fixtures[i]);
        ck_assert_int_eq(figures[0].top_tid, figures[1].top_tid);
        ck_assert(span_equal(figures[0].top_name, figures[1].top_name));
        ck_assert_uint_eq(figures[0].top, figures[1].top);
        ck_assert_uint_eq(figures[0].p50, figures[1].p50);
        ck_assert_uint_eq(figures[0].p99, figures[1].p99);
        for (size_t i = 0; i < 2; i++)
                fixture_done(&fixtures[i]);
        free(works);
}
END_TEST

static const struct {
        Work works[3];
        pid_t tid;
        const char *name;
        uint64_t value;
} ties[] = {
        { { { 7, "a", 5 }, { 3, "b", 5 }, { 9, "c", 5 } }, 3, "b", 5 },
        { { { 9, "c", 5 }, { 7, "a", 5 }, { 3, "b", 4 } }, 7, "a", 5 },
        { { { 2, "x", 0 }, { 1, "y", 0 }, { 3, "z", 0 } }, 1, "y", 0 },
        /* A tid that is reused while the threads are read. */
        { { { 4, "new", 8 }, { 5, "", 1 }, { 4, "late", 8 } }, 4, "late", 8 },
        { { { 4, "late", 8 }, { 4, "new", 8 }, { 5, "", 1 } }, 4, "late", 8 },
        { { { 1, "", UINT64_MAX }, { 2, "b", UINT64_MAX - 1 }, { 3, "c", 0 } }, 1, "", UINT64_MAX },
};

START_TEST(of_equal_threads_the_smallest_tid_leads) {
        Fixture fixture = fixture_of(ties[_i].works, ELEMENTSOF(ties[_i].works));
        SpreadFigures figures = read_figures(&fixture);

        assert_top(&figures, ties[_i].tid, ties[_i].name, ties[_i].value);
        ck_assert_uint_eq(figures.n_threads, 3);
        fixture_done(&fixture);
}
END_TEST

START_TEST(few_threads_are_exact) {
        size_t n = (size_t) _i + 1;
        Work works[SPREAD_MAX_FEW];
        SpreadFigures figures;
        Fixture fixture;

        for (size_t i = 0; i < n; i++) /* descending, so that they have to be sorted */
                works[i] = (Work){ (pid_t) (i + 1), "worker", 1000003 * (n - i) };
        fixture = fixture_of(works, n);
        figures = read_figures(&fixture);
        assert_top(&figures, 1, "worker", 1000003 * n);
        ck_assert_uint_eq(figures.n_threads, n);
        ck_assert_uint_eq(figures.p50, 1000003 * ((n + 1) / 2));
        ck_assert_uint_eq(figures.p99, 1000003 * n);
        fixture_done(&fixture);
}
END_TEST

START_TEST(one_stuck_thread_of_64_leads_while_the_median_stays_small) {
        Work works[64];
        SpreadFigures figures;
        Fixture fixture;

        for (size_t i = 0; i < ELEMENTSOF(works); i++)
                works[i] = (Work){ (pid_t) (100 + i), "idler", 1000 + i };
        works[17] = (Work){ 4211, "stuck", UINT64_C(3600000000000) };
        fixture = fixture_of(works, ELEMENTSOF(works));
        figures = read_figures(&fixture);
        assert_top(&figures, 4211, "stuck", UINT64_C(3600000000000));
        ck_assert_uint_lt(figures.p50, 1100);
        ck_assert_uint_eq(figures.p99, figures.top); /* the 64th of 64 */
        fixture_done(&fixture);
}
END_TEST

START_TEST(equal_threads_have_their_exact_value) {
        Work works[100];
        SpreadFigures figures;
        Fixture fixture;

        for (size_t i = 0; i < ELEMENTSOF(works); i++)
                works[i] = (Work){ (pid_t) (i + 1), "twin", 1234567891 };
        fixture = fixture_of(works, ELEMENTSOF(works));
        figures = read_figures(&fixture);
        ck_assert_uint_eq(figures.p50, 1234567891);
        ck_assert_uint_eq(figures.p99, 1234567891);
        fixture_done(&fixture);
}
END_TEST

START_TEST(what_no_thread_has_is_absent_and_zero_is_not) {
        Fixture fixture = { .names = NULL };
        ThreadSample without = thread_of("p", "without", 1), with = thread_of("p", "with", 2);
        SpreadFigures figures;

        fixture.names = calloc(1, sizeof(*fixture.names));
        ck_assert_ptr_nonnull(fixture.names);
        ck_assert(!spread_read(&fixture.spread, fixture.names, METRIC_majflt, &figures));
        thread_sample_put(&with, METRIC_majflt, 0);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(spread_add_sample(&fixture.spread, fixture.names, &without), 0);
        ck_assert(!spread_read(&fixture.spread, fixture.names, METRIC_majflt, &figures));
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(spread_add_sample(&fixture.spread, fixture.names, &with), 0);
        ck_assert(!spread_read(&fixture.spread, fixture.names, METRIC_minflt, &figures));
        ck_assert(spread_read(&fixture.spread, fixture.names, METRIC_majflt, &figures));
        assert_top(&figures, 2, "with", 0);
        ck_assert_uint_eq(figures.n_threads, 3);
        ck_assert_uint_eq(figures.p99, 0);
        fixture_done(&fixture);
}
END_TEST

START_TEST(only_sums_over_threads_that_differ_have_a_spread) {
        Fixture fixture = { .names = NULL };
        ThreadSample sample = thread_of("p", "t", 1);
        SpreadFigures figures;

        fixture.names = calloc(1, sizeof(*fixture.names));
        ck_assert_ptr_nonnull(fixture.names);
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                thread_sample_put(&sample, (MetricId) id, id);
        ck_assert_int_eq(spread_add_sample(&fixture.spread, fixture.names, &sample), 0);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                bool is_spread = metric_is_cumulative((MetricId) id) && id != METRIC_thread_count;

                ck_assert(spread_read(&fixture.spread, fixture.names, (MetricId) id, &figures) ==
                          is_spread);
                if (is_spread)
                        assert_top(&figures, 1, "t", id);
        }
        fixture_done(&fixture);
}
END_TEST

START_TEST(each_sum_has_a_top_of_its_own) {
        Fixture fixture = { .names = NULL };
        ThreadSample samples[] = { thread_of("p", "reader", 11), thread_of("p", "writer", 12) };
        SpreadFigures figures;

        fixture.names = calloc(1, sizeof(*fixture.names));
        ck_assert_ptr_nonnull(fixture.names);
        for (unsigned i = 0; i < 2; i++) {
                thread_sample_put(&samples[i], METRIC_rchar, i == 0 ? 5000 : 1);
                thread_sample_put(&samples[i], METRIC_wchar, i == 0 ? 2 : 7000);
                ck_assert_int_eq(spread_add_sample(&fixture.spread, fixture.names, &samples[i]), 0);
        }
        ck_assert(spread_read(&fixture.spread, fixture.names, METRIC_rchar, &figures));
        assert_top(&figures, 11, "reader", 5000);
        ck_assert_uint_eq(figures.p50, 1);
        ck_assert(spread_read(&fixture.spread, fixture.names, METRIC_wchar, &figures));
        assert_top(&figures, 12, "writer", 7000);
        ck_assert_uint_eq(figures.p50, 2);
        fixture_done(&fixture);
}
END_TEST

/* Makes @n threads in each of @n_groups groups, with values of a busy host. */
static size_t bytes_of(size_t n_groups, size_t n, bool zeros) {
        Fixture fixture = { .names = NULL };
        size_t n_bytes = 0;
        int r = 0;

        fixture.names = calloc(1, sizeof(*fixture.names));
        ck_assert_ptr_nonnull(fixture.names);
        for (size_t group = 0; group < n_groups; group++) {
                Spread spread = { .few = NULL };

                for (size_t i = 0; i < n; i++) {
                        ThreadSample sample = thread_of("p", "worker", (pid_t) (i + 1));

                        for (unsigned id = 0; id < _METRIC_MAX; id++)
                                thread_sample_put(&sample, (MetricId) id,
                                                  zeros ? 0 : random_u64() >> random_u64() % 64);
                        r |= spread_add_sample(&spread, fixture.names, &sample);
                }
                ck_assert_int_eq(r, 0);
                n_bytes += spread_bytes(&spread);
                spread_done(&spread);
        }
        fixture_done(&fixture);
        return n_bytes;
}

static const struct {
        size_t n_groups, n, max_bytes;
        bool zeros;
} sizes[] = {
        { 1, 1, 900, false },
        { 1, SPREAD_MAX_FEW, SPREAD_MAX_FEW * 900, false },
        { 1, SPREAD_MAX_FEW + 1, 6000, false },
        { 20, 25, 20 * 9000, false },       /* a hundredth of a large host, of one side */
        { 1, 2000, 2000 * 102 * 3, false }, /* two bytes a value and half of it to spare */
        { 1, 20000, 1700000, false },       /* counted: independent of the number of threads */
        { 1, 20000, 12288, true },
};

START_TEST(memory_stays_within_its_bound) {
        random_state = 1;
        ck_assert_uint_le(bytes_of(sizes[_i].n_groups, sizes[_i].n, sizes[_i].zeros),
                          sizes[_i].max_bytes);
}
END_TEST

/* names */

START_TEST(names_are_kept_once_and_cut) {
        char name[SPREAD_NAME_BYTES + 8];
        SpreadNames *names;
        uint32_t first, again;

        names = calloc(1, sizeof(*names));
        ck_assert_ptr_nonnull(names);
        for (unsigned pass = 0; pass < 2; pass++)
                for (unsigned i = 0; i < 1000; i++) {
                        int n = snprintf(name, sizeof(name), "worker-%u", i);

                        ck_assert_int_eq(
                                spread_names_add(names, (Span){ name, (size_t) n }, &first), 0);
                        ck_assert_uint_eq(first, i);
                        ck_assert(span_is(name_set_get(&names->set, i), name));
                }
        memset(name, 'x', sizeof(name));
        ck_assert_int_eq(spread_names_add(names, (Span){ name, sizeof(name) }, &first), 0);
        ck_assert_int_eq(spread_names_add(names, (Span){ name, SPREAD_NAME_BYTES }, &again), 0);
        ck_assert_uint_eq(first, again);
        ck_assert_uint_eq(name_set_get(&names->set, first).n, SPREAD_NAME_BYTES);
        ck_assert_int_eq(spread_names_add(names, (Span){ NULL, 0 }, &first), 0);
        ck_assert_int_eq(spread_names_add(names, (Span){ "\xff\x01", 2 }, &again), 0);
        ck_assert_uint_eq(name_set_get(&names->set, first).n, 0);
        ck_assert(span_is(name_set_get(&names->set, again), "\xff\x01"));
        name_set_done(&names->set);
        free(names);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("spread");
        TCase *tests = tcase_create("spread");

        tcase_add_test(tests, places_follow_each_other_and_are_at_most_one_percent_wide);
        tcase_add_loop_test(tests, percentiles_are_within_one_percent_of_the_nearest_rank, 0,
                            ELEMENTSOF(counts));
        tcase_add_loop_test(tests, small_numbers_are_exact_whatever_the_form, 0,
                            ELEMENTSOF(counts));
        tcase_add_loop_test(tests, the_order_of_threads_does_not_matter, 0, ELEMENTSOF(counts));
        tcase_add_loop_test(tests, of_equal_threads_the_smallest_tid_leads, 0, ELEMENTSOF(ties));
        tcase_add_loop_test(tests, few_threads_are_exact, 0, SPREAD_MAX_FEW);
        tcase_add_test(tests, one_stuck_thread_of_64_leads_while_the_median_stays_small);
        tcase_add_test(tests, equal_threads_have_their_exact_value);
        tcase_add_test(tests, what_no_thread_has_is_absent_and_zero_is_not);
        tcase_add_test(tests, only_sums_over_threads_that_differ_have_a_spread);
        tcase_add_test(tests, each_sum_has_a_top_of_its_own);
        tcase_add_loop_test(tests, memory_stays_within_its_bound, 0, ELEMENTSOF(sizes));
        tcase_add_test(tests, names_are_kept_once_and_cut);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
