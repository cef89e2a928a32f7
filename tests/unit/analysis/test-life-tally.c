/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/group/life-tally.h"
#include "thread.h"

#define S(seconds) ((seconds) *NSEC_PER_SEC)
#define TICK_NS (NSEC_PER_SEC / 100)

static const JudgeTime times[SIDES] = {
        { .known = true, .start_ns = S(100), .end_ns = S(101), .tick_ns = TICK_NS },
        { .known = true, .start_ns = S(160), .end_ns = S(162), .tick_ns = TICK_NS },
};

static ThreadSample started(uint64_t seconds) {
        ThreadSample sample = thread_of("p", "t", 100);

        sample.start_ticks = seconds * 100;
        return sample;
}

START_TEST(periods_begin_where_captures_do) {
        const JudgeTime backwards[SIDES] = { times[1], times[0] };
        const JudgeTime unknown[SIDES] = { { .known = false }, times[1] };
        Period period = period_of(&times[0], &times[1]);

        ck_assert(period.known && period.is_interval);
        ck_assert_uint_eq(period_elapsed_ns(&period).n, S(60));
        period = period_of(NULL, &times[1]);
        ck_assert(period.known && !period.is_interval);
        ck_assert_uint_eq(period_elapsed_ns(&period).n, S(160));
        period = period_of(&backwards[0], &backwards[1]);
        ck_assert(!period.known && period.is_interval && !period_elapsed_ns(&period).known);
        period = period_of(&unknown[0], &unknown[1]);
        ck_assert(!period.known);
        period = period_of(NULL, &unknown[0]);
        ck_assert(!period.known && !period.is_interval);
}
END_TEST

/* One thread: when it started, in which snapshots it is, and how long it was alive inside. */
static const struct {
        uint64_t start_s;
        bool in_before, in_after;
        uint64_t alive_s;
} alive_rows[] = {
        { 3, true, true, 60 },   /* lived on */
        { 100, true, true, 60 }, /* started while the first capture ran */
        { 150, false, true, 10 },
        { 99, false, true, 60 }, /* nobody saw it, but it was there: not before the interval */
        { 161, false, true, 0 }, /* started while the second capture ran */
        { 3, true, false, 0 },   /* ended */
        { UINT64_MAX / 100, false, true, 0 },
};

START_TEST(threads_are_alive_within_an_interval) {
        const Period period = period_of(&times[0], &times[1]);
        ThreadSample sample = started(alive_rows[_i].start_s);
        LifeTally tally = {};

        life_tally_add(&tally, &period, alive_rows[_i].in_before ? &sample : NULL,
                       alive_rows[_i].in_after ? &sample : NULL);
        ck_assert_uint_eq(tally.alive_ns, S(alive_rows[_i].alive_s));
}
END_TEST

START_TEST(lives_begin_with_the_thread) {
        const Period period = period_of(NULL, &times[0]), unknown = { .known = false };
        ThreadSample first = started(0), second = started(70), late = started(101);
        LifeTally tally = {}, other = {};

        life_tally_add(&tally, &period, NULL, &first);
        life_tally_add(&tally, &period, NULL, &second);
        life_tally_add(&tally, &period, NULL, &late);
        ck_assert_uint_eq(tally.alive_ns, S(130));
        life_tally_add(&other, &unknown, NULL, &first);
        ck_assert_uint_eq(other.alive_ns, 0);
        life_tally_merge(&other, &tally);
        ck_assert_uint_eq(other.alive_ns, S(130));
}
END_TEST

#define NONE UINT64_MAX /* no value */
#define GONE (UINT64_MAX - 1)

/* The peak of memory of one thread on each side, and what is known to have been reached inside. */
static const struct {
        uint64_t before, after;
        bool leads; /* it is the first thread of its process */
        uint64_t risen;
} peak_rows[] = {
        { 10, 30, true, 30 },      { 30, 30, true, NONE },   { NONE, 30, true, NONE },
        { 10, NONE, true, NONE },  { 10, GONE, true, NONE }, { GONE, 30, true, 30 },
        { GONE, 30, false, NONE }, /* a thread was born in a process that may have peaked before */
        { 10, 30, false, 30 },
};

static ThreadSample peaked(uint64_t peak, bool leads) {
        ThreadSample sample = started(120);

        sample.tid += leads ? 0 : 1;
        if (peak < GONE)
                thread_sample_put(&sample, METRIC_hiwater_rss_bytes, peak);
        return sample;
}

START_TEST(peaks_count_where_they_rose_inside) {
        const Period period = period_of(&times[0], &times[1]);
        ThreadSample before = peaked(peak_rows[_i].before, peak_rows[_i].leads);
        ThreadSample after = peaked(peak_rows[_i].after, peak_rows[_i].leads);
        LifeTally tally = {};

        life_tally_add(&tally, &period, peak_rows[_i].before == GONE ? NULL : &before,
                       peak_rows[_i].after == GONE ? NULL : &after);
        ck_assert_int_eq(tally.risen_rss_bytes.known, peak_rows[_i].risen != NONE);
        if (peak_rows[_i].risen != NONE)
                ck_assert_uint_eq(tally.risen_rss_bytes.n, peak_rows[_i].risen);
}
END_TEST

START_TEST(of_whole_lives_the_highest_peak_counts) {
        const Period period = period_of(NULL, &times[0]);
        ThreadSample low = peaked(10, false), high = peaked(70, false), none = peaked(NONE, true);
        LifeTally tally = {};

        life_tally_add(&tally, &period, NULL, &none);
        ck_assert(!tally.risen_rss_bytes.known);
        life_tally_add(&tally, &period, NULL, &high);
        life_tally_add(&tally, &period, NULL, &low);
        ck_assert(tally.risen_rss_bytes.known);
        ck_assert_uint_eq(tally.risen_rss_bytes.n, 70);
}
END_TEST

/* Anonymous and shared memory of one process at the ends, and what is known of the group's. */
static const struct {
        uint64_t before, after; /* NONE: not known; GONE: it is not there */
        uint64_t level_before, level_after, growth;
} rss_rows[] = {
        { 10, 30, 15, 35, 20 },         { 30, 10, 35, 15, 0 },
        { GONE, 30, NONE, 35, 35 }, /* it was born */
        { 10, GONE, 15, NONE, 0 },  /* and ended */
        { NONE, 30, NONE, NONE, NONE }, { 10, NONE, NONE, NONE, NONE },
};

static ThreadSample resident(uint64_t anon) {
        ThreadSample sample = started(120);

        if (anon < GONE) {
                thread_sample_put(&sample, METRIC_rss_anon_bytes, anon);
                thread_sample_put(&sample, METRIC_rss_shmem_bytes, 5);
                thread_sample_put(&sample, METRIC_rss_file_bytes, 1000);
        }
        return sample;
}

static void expect_amount(Amount amount, uint64_t wanted) {
        ck_assert_int_eq(amount.known, wanted != NONE);
        if (wanted != NONE)
                ck_assert_uint_eq(amount.n, wanted);
}

START_TEST(memory_counts_where_both_ends_are_known) {
        const Period period = period_of(&times[0], &times[1]), whole = period_of(NULL, &times[0]);
        ThreadSample before = resident(rss_rows[_i].before), after = resident(rss_rows[_i].after);
        LifeTally tally = {}, twice = {}, lives = {};

        life_tally_add(&tally, &period, rss_rows[_i].before == GONE ? NULL : &before,
                       rss_rows[_i].after == GONE ? NULL : &after);
        expect_amount(tally.rss_bytes[SIDE_BEFORE], rss_rows[_i].level_before);
        expect_amount(tally.rss_bytes[SIDE_AFTER], rss_rows[_i].level_after);
        expect_amount(life_tally_rss_growth(&tally), rss_rows[_i].growth);
        life_tally_merge(&twice, &tally);
        life_tally_merge(&twice, &tally);
        expect_amount(life_tally_rss_growth(&twice),
                      rss_rows[_i].growth == NONE ? NONE : 2 * rss_rows[_i].growth);
        life_tally_add(&lives, &whole, NULL, &before);
        ck_assert(!lives.rss_bytes[SIDE_BEFORE].known);
}
END_TEST

#define HALF (UINT64_C(1) << 63) /* a program may say what it likes */

/* What threads have allocated and freed at the ends; the first of a process may inherit it. */
static const struct {
        struct {
                uint64_t before, freed_before, after, freed_after;
                bool leads;
        } threads[2];
        uint64_t growth;
} heap_rows[] = {
        { { { 100, 50, 300, 60, true }, { 0, 0, 0, 40, false } },
          150 },                                                      /* one frees for the other */
        { { { 100, 50, 110, 90, true }, { 0, 0, 5, 0, false } }, 0 }, /* it fell */
        { { { 100, 50, 110, 50, true }, { GONE, 0, 30, 10, false } }, 30 },
        { { { 100, 50, 110, 50, true }, { GONE, 0, 30, 10, true } }, NONE },
        { { { 100, 50, 110, 50, true }, { 7, 0, GONE, 0, false } }, NONE }, /* who frees it now? */
        { { { 100, 50, 110, 50, true }, { 7, 0, NONE, 0, false } }, NONE }, /* not read */
        { { { NONE, 0, NONE, 0, true }, { NONE, 0, NONE, 0, false } }, NONE }, /* no jemalloc */
        { { { 0, 0, HALF, 9, true }, { 0, 0, HALF - 1, 0, false } }, UINT64_MAX - 9 },
        { { { 0, 0, HALF, 9, true }, { 0, 0, HALF + 1, 0, false } }, UINT64_MAX - 9 }, /* clips */
        { { { 0, 0, 0, HALF, true }, { 0, 0, 0, HALF, false } }, 0 },
};

static ThreadSample allocating(uint64_t allocated, uint64_t freed, bool leads) {
        ThreadSample sample = started(120);

        sample.tid += leads ? 0 : 1;
        if (allocated < GONE) {
                thread_sample_put(&sample, METRIC_allocated_bytes, allocated);
                thread_sample_put(&sample, METRIC_deallocated_bytes, freed);
        }
        return sample;
}

START_TEST(a_heap_grows_by_what_all_its_threads_keep) {
        const Period period = period_of(&times[0], &times[1]);
        LifeTally tally = {};

        for (size_t i = 0; i < ELEMENTSOF(heap_rows[_i].threads); i++) {
                __typeof__(&heap_rows[_i].threads[i]) row = &heap_rows[_i].threads[i];
                ThreadSample before = allocating(row->before, row->freed_before, row->leads);
                ThreadSample after = allocating(row->after, row->freed_after, row->leads);

                life_tally_add(&tally, &period, row->before == GONE ? NULL : &before,
                               row->after == GONE ? NULL : &after);
        }
        expect_amount(life_tally_heap_growth(&tally), heap_rows[_i].growth);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("life-tally");
        TCase *alive = tcase_create("alive"), *peaks = tcase_create("peaks");
        TCase *memory = tcase_create("memory");

        tcase_add_test(alive, periods_begin_where_captures_do);
        tcase_add_loop_test(alive, threads_are_alive_within_an_interval, 0, ELEMENTSOF(alive_rows));
        tcase_add_test(alive, lives_begin_with_the_thread);
        suite_add_tcase(suite, alive);
        tcase_add_loop_test(peaks, peaks_count_where_they_rose_inside, 0, ELEMENTSOF(peak_rows));
        tcase_add_test(peaks, of_whole_lives_the_highest_peak_counts);
        suite_add_tcase(suite, peaks);
        tcase_add_loop_test(memory, memory_counts_where_both_ends_are_known, 0,
                            ELEMENTSOF(rss_rows));
        tcase_add_loop_test(memory, a_heap_grows_by_what_all_its_threads_keep, 0,
                            ELEMENTSOF(heap_rows));
        suite_add_tcase(suite, memory);
        return check_main(suite);
}
