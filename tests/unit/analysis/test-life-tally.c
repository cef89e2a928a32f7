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
        Period period = period_between(times);

        ck_assert(period.known && period.is_interval);
        ck_assert_uint_eq(period_elapsed_ns(&period).n, S(60));
        period = period_of_lives(&times[1]);
        ck_assert(period.known && !period.is_interval);
        ck_assert_uint_eq(period_elapsed_ns(&period).n, S(160));
        period = period_between(backwards);
        ck_assert(!period.known && period.is_interval && !period_elapsed_ns(&period).known);
        period = period_between(unknown);
        ck_assert(!period.known);
        period = period_of_lives(&unknown[0]);
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
        const Period period = period_between(times);
        ThreadSample sample = started(alive_rows[_i].start_s);
        LifeTally tally = {};

        life_tally_add(&tally, &period, alive_rows[_i].in_before ? &sample : NULL,
                       alive_rows[_i].in_after ? &sample : NULL);
        ck_assert_uint_eq(tally.alive_ns, S(alive_rows[_i].alive_s));
}
END_TEST

START_TEST(lives_begin_with_the_thread) {
        const Period period = period_of_lives(&times[0]), unknown = { .known = false };
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
        const Period period = period_between(times);
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
        const Period period = period_of_lives(&times[0]);
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

int main(void) {
        Suite *suite = suite_create("life-tally");
        TCase *alive = tcase_create("alive"), *peaks = tcase_create("peaks");

        tcase_add_test(alive, periods_begin_where_captures_do);
        tcase_add_loop_test(alive, threads_are_alive_within_an_interval, 0, ELEMENTSOF(alive_rows));
        tcase_add_test(alive, lives_begin_with_the_thread);
        suite_add_tcase(suite, alive);
        tcase_add_loop_test(peaks, peaks_count_where_they_rose_inside, 0, ELEMENTSOF(peak_rows));
        tcase_add_test(peaks, of_whole_lives_the_highest_peak_counts);
        suite_add_tcase(suite, peaks);
        return check_main(suite);
}
