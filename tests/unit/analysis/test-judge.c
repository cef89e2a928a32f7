/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "analysis/group/judge.h"
#include "random-threads.h"
#include "thread.h"

#define S NSEC_PER_SEC
#define MS (NSEC_PER_SEC / 1000)
#define ABSENT UINT64_MAX
#define TICKS 100 /* a second */

static JudgeTime time_at(uint64_t start_ns) {
        const Head head = {
                .has_start_boottime = true,
                .start_boottime_ns = start_ns,
                .has_end_boottime = true,
                .end_boottime_ns = start_ns + 10 * MS,
                .has_user_hz = true,
                .user_hz = TICKS,
        };

        return judge_time_of(&head);
}

static void put(ThreadSample *sample, MetricId id, uint64_t value) {
        if (value != ABSENT)
                thread_sample_put(sample, id, value);
}

static uint64_t get(const ThreadSample *sample, MetricId id) {
        return thread_sample_has(sample, id) ? thread_sample_get(sample, id) : ABSENT;
}

static bool has_bit(const uint64_t *words, MetricId id) {
        return words[id / 64] >> id % 64 & 1;
}

/* one snapshot: a thread born at 1000 s and read at 1010 s */

static const struct {
        const char *what;
        uint64_t run, wait, total, max, min; /* of block I/O delays */
        uint64_t wanted_total, wanted_max, wanted_min;
        bool corrected;
} life_rows[] = {
        { "an honest thread", 2 * S, 1 * S, 5 * S, 1 * S, 5, 5 * S, 1 * S, 5, false },
        { "all of its life", 0, 0, 10 * S, 10 * S, 10 * S, 10 * S, 10 * S, 10 * S, false },
        { "the only event is the uptime", 0, 0, 1005 * S, 1005 * S, 1005 * S, 0, ABSENT, ABSENT,
          true },
        { "one impossible event among others", 1 * S, 1 * S, 1007 * S, 1005 * S, 7, 2 * S, ABSENT,
          7, true },
        { "two impossible events", 0, 0, 2007 * S, 1005 * S, 7, ABSENT, ABSENT, 7, false },
        { "a total without a maximum", 0, 0, 921 * S, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
          false },
        { "a possible maximum in an impossible total", 0, 0, 921 * S, 9 * S, 1, ABSENT, 9 * S, 1,
          false },
        { "together with running and waiting too much", 4 * S, 4 * S, 4 * S, 1 * S, 1, ABSENT,
          1 * S, 1, false },
        { "too much even without the event", 9 * S, 1 * S, 1007 * S, 1005 * S, 7, ABSENT, ABSENT, 7,
          false },
        { "the grain of the start", 0, 0, 10 * S + 15 * MS, 5 * S, 1, 10 * S + 15 * MS, 5 * S, 1,
          false },
        { "the maximum alone, its total not read", 0, 0, ABSENT, 1005 * S, ABSENT, ABSENT, ABSENT,
          ABSENT, false },
};

START_TEST(no_time_exceeds_the_life) {
        JudgeTime time = time_at(1010 * S);
        ThreadSample sample = thread_of("p", "t", 1);

        sample.start_ticks = 1000 * TICKS;
        put(&sample, METRIC_run_time_ns, life_rows[_i].run);
        put(&sample, METRIC_wait_time_ns, life_rows[_i].wait);
        put(&sample, METRIC_blkio_delay_total_ns, life_rows[_i].total);
        put(&sample, METRIC_blkio_delay_max_ns, life_rows[_i].max);
        put(&sample, METRIC_blkio_delay_min_ns, life_rows[_i].min);
        judge_life((const JudgeTime[SIDES]){ time }, &sample, NULL);

        ck_assert_uint_eq(get(&sample, METRIC_run_time_ns), life_rows[_i].run);
        ck_assert_uint_eq(get(&sample, METRIC_wait_time_ns), life_rows[_i].wait);
        ck_assert_msg(get(&sample, METRIC_blkio_delay_total_ns) == life_rows[_i].wanted_total &&
                              get(&sample, METRIC_blkio_delay_max_ns) == life_rows[_i].wanted_max &&
                              get(&sample, METRIC_blkio_delay_min_ns) == life_rows[_i].wanted_min,
                      "%s", life_rows[_i].what);
        ck_assert_msg(has_bit(sample.corrected, METRIC_blkio_delay_total_ns) ==
                              life_rows[_i].corrected,
                      "%s", life_rows[_i].what);
        ck_assert(has_bit(sample.implausible, METRIC_blkio_delay_total_ns) ==
                  (life_rows[_i].total != ABSENT && life_rows[_i].wanted_total == ABSENT));
        ck_assert(has_bit(sample.implausible, METRIC_blkio_delay_max_ns) ==
                  (life_rows[_i].max != ABSENT && life_rows[_i].wanted_max == ABSENT));
}
END_TEST

/* two snapshots: a thread born at 1000 s and read at 1010 s and 1025 s */

static const struct {
        const char *what;
        char state;
        uint64_t totals[SIDES], maxima[SIDES];
        uint64_t wanted[SIDES], wanted_max; /* of the later */
        bool corrected;                     /* the later */
} growth_rows[] = {
        { "an honest thread",
          'S',
          { 5 * S, 9 * S },
          { 1 * S, 2 * S },
          { 5 * S, 9 * S },
          2 * S,
          false },
        { "all of the interval",
          'S',
          { 1 * S, 16 * S },
          { 1 * S, 15 * S },
          { 1 * S, 16 * S },
          15 * S,
          false },
        { "an event that is longer than the life",
          'S',
          { 2 * S, 925 * S },
          { 1 * S, 921 * S },
          { 2 * S, 4 * S },
          ABSENT,
          true },
        { "an event that is longer than the interval only",
          'S',
          { 1 * S, 22 * S },
          { 1 * S, 20 * S },
          { 1 * S, 2 * S },
          ABSENT,
          true },
        { "the same in a thread that was blocked",
          'D',
          { 1 * S, 22 * S },
          { 1 * S, 20 * S },
          { 1 * S, 22 * S },
          20 * S,
          false },
        { "an idle kernel thread is blocked, too",
          'I',
          { 1 * S, 22 * S },
          { 1 * S, 20 * S },
          { 1 * S, 22 * S },
          20 * S,
          false },
        { "too much without an event that explains it",
          'S',
          { 1 * S, 22 * S },
          { 1 * S, 1 * S },
          { 1 * S, ABSENT },
          1 * S,
          false },
        { "the event was there before",
          'S',
          { 923 * S, 925 * S },
          { 921 * S, 921 * S },
          { 2 * S, 4 * S },
          ABSENT,
          true },
        { "it is younger than the thread by now, but no truer",
          'S',
          { 13 * S, 15 * S },
          { 12 * S, 12 * S },
          { 1 * S, 3 * S },
          ABSENT,
          true },
        { "a second one follows",
          'S',
          { 923 * S, 1927 * S },
          { 921 * S, 1001 * S },
          { 2 * S, 5 * S },
          ABSENT,
          true },
        { "nothing is left to believe before",
          'S',
          { 1923 * S, 1925 * S },
          { 921 * S, 921 * S },
          { ABSENT, ABSENT },
          ABSENT,
          false },
        { "a counter that fell is not judged here",
          'S',
          { 5 * S, 1 * S },
          { 1 * S, 1 * S },
          { 5 * S, 1 * S },
          1 * S,
          false },
};

START_TEST(no_growth_exceeds_the_interval) {
        JudgeTime times[SIDES] = { time_at(1010 * S), time_at(1025 * S) };
        ThreadSample samples[SIDES];

        for (unsigned i = 0; i < SIDES; i++) {
                samples[i] = thread_of("p", "t", 1);
                samples[i].start_ticks = 1000 * TICKS;
                put(&samples[i], METRIC_state, (uint64_t) growth_rows[_i].state);
                put(&samples[i], METRIC_blkio_delay_total_ns, growth_rows[_i].totals[i]);
                put(&samples[i], METRIC_blkio_delay_max_ns, growth_rows[_i].maxima[i]);
        }
        judge_life(times, &samples[0], &samples[1]);
        for (unsigned i = 0; i < SIDES; i++)
                ck_assert_msg(get(&samples[i], METRIC_blkio_delay_total_ns) ==
                                      growth_rows[_i].wanted[i],
                              "%s, side %u", growth_rows[_i].what, i);
        ck_assert_msg(get(&samples[1], METRIC_blkio_delay_max_ns) == growth_rows[_i].wanted_max,
                      "%s", growth_rows[_i].what);
        ck_assert_msg(has_bit(samples[1].corrected, METRIC_blkio_delay_total_ns) ==
                              growth_rows[_i].corrected,
                      "%s", growth_rows[_i].what);
}
END_TEST

/* A wait for a CPU that began before the first snapshot is added when it ends. */
START_TEST(who_waited_at_the_start_may_exceed_the_interval) {
        static const struct {
                MetricId id;
                char state;
                bool is_believed;
        } rows[] = {
                { METRIC_wait_time_ns, 'R', true },
                { METRIC_wait_time_ns, 'S', false },
                { METRIC_cpu_delay_total_ns, 'R', true },
                { METRIC_cpu_delay_total_ns, 'D', false },
                { METRIC_block_sum, 'D', true },
                { METRIC_block_sum, 'R', false },
                { METRIC_voluntary_sleep_ns, 'S', true },
                { METRIC_voluntary_sleep_ns, 'R', false },
                { METRIC_swapin_delay_total_ns, 'D', true },
                { METRIC_swapin_delay_total_ns, 'S', false },
                { METRIC_run_time_ns, 'S', false },
                { METRIC_utime_clock_ticks, 'S', false },
        };
        JudgeTime times[SIDES] = { time_at(1010 * S), time_at(1025 * S) };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t unit = metric_table[rows[i].id].unit == METRIC_UNIT_TICKS ? TICKS : S;
                ThreadSample before = thread_of("p", "t", 1), after = before;

                before.start_ticks = after.start_ticks = 1000 * TICKS;
                put(&before, METRIC_state, (uint64_t) rows[i].state);
                put(&before, rows[i].id, 1 * unit);
                put(&after, rows[i].id, 20 * unit);
                judge_life(times, &before, &after);
                ck_assert_msg(thread_sample_has(&after, rows[i].id) == rows[i].is_believed,
                              "%s in state %c", metric_table[rows[i].id].name, rows[i].state);
        }
}
END_TEST

/* The first delays of a thread, whose zeros the earlier capture left out, began in the interval. */
START_TEST(first_delays_grow_by_no_more_than_the_interval) {
        JudgeTime times[SIDES] = { time_at(1010 * S), time_at(1025 * S) };
        ThreadSample before = thread_of("p", "t", 1), after = before;

        before.start_ticks = after.start_ticks = 1;
        put(&before, METRIC_state, 'S');
        put(&before, METRIC_cpu_delay_count, 1);
        put(&after, METRIC_cpu_delay_count, 2);
        put(&after, METRIC_blkio_delay_total_ns, 1022 * S); /* from boot, and 2 s */
        put(&after, METRIC_blkio_delay_max_ns, 1020 * S);
        judge_life(times, &before, &after);
        ck_assert_uint_eq(get(&after, METRIC_blkio_delay_total_ns), 2 * S);
        ck_assert_uint_eq(get(&after, METRIC_blkio_delay_max_ns), ABSENT);
}
END_TEST

START_TEST(nothing_is_judged_without_times) {
        const Head head = { .has_start_boottime = true, .start_boottime_ns = S };
        JudgeTime times[SIDES] = { judge_time_of(&head), judge_time_of(&head) };
        ThreadSample before = thread_with(METRIC_blkio_delay_total_ns, 1), after;

        after = thread_with(METRIC_blkio_delay_total_ns, UINT64_MAX);
        ck_assert(!times[0].known);
        ck_assert_uint_eq(judge_interval_ns(times), 0);
        judge_life(times, &after, NULL);
        ck_assert_uint_eq(get(&after, METRIC_blkio_delay_total_ns), UINT64_MAX);
        judge_life(times, &before, &after);
        ck_assert_uint_eq(get(&after, METRIC_blkio_delay_total_ns), UINT64_MAX);
}
END_TEST

/* A thread of another boot in a file that was put together by hand. */
START_TEST(a_start_after_the_snapshot_is_not_judged) {
        JudgeTime time = time_at(10 * S);
        ThreadSample sample = thread_with(METRIC_run_time_ns, 500 * S);

        sample.start_ticks = 1000 * TICKS;
        judge_life((const JudgeTime[SIDES]){ time }, &sample, NULL);
        ck_assert_uint_eq(get(&sample, METRIC_run_time_ns), 500 * S);
}
END_TEST

/* Every total of times is judged, but for those that are not times of this thread on a clock. */
START_TEST(every_total_of_times_is_judged) {
        static const MetricId others[] = { METRIC_core_forceidle_sum, METRIC_acct_run_scaled_ns,
                                           METRIC_acct_utime_scaled_ns,
                                           METRIC_acct_stime_scaled_ns };
        JudgeTime time = time_at(1010 * S);

        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                bool is_time = metric->unit == METRIC_UNIT_NS || metric->unit == METRIC_UNIT_TICKS;
                bool is_judged = is_time && metric->kind != METRIC_KIND_GAUGE;
                ThreadSample sample = thread_of("p", "t", 1);

                for (size_t i = 0; i < ELEMENTSOF(others); i++)
                        is_judged = is_judged && others[i] != id;
                sample.start_ticks = 1000 * TICKS;
                put(&sample, (MetricId) id, 1000 * S);
                judge_life((const JudgeTime[SIDES]){ time }, &sample, NULL);
                ck_assert_msg(thread_sample_has(&sample, (MetricId) id) == !is_judged, "%s",
                              metric->name);
        }
}
END_TEST

/* properties of simulated threads */

#define N_SEEDS 200
#define N_STEPS 60

typedef struct Simulation {
        uint64_t now_ns, born_ns;
        uint64_t run, wait, blocked, max, min;
        uint64_t lies; /* what the kernel added to blocked above the truth */
} Simulation;

static void simulate(Simulation *thread, unsigned n_steps, bool lie) {
        for (unsigned i = 0; i < n_steps; i++) {
                uint64_t span = random_u64() % (300 * MS) + 1, counted = span;

                thread->now_ns += span;
                switch (random_u64() % 4) {
                case 0:
                        thread->run += span;
                        break;
                case 1:
                        thread->wait += span;
                        break;
                case 2:
                        if (lie && i == n_steps / 2)
                                counted = thread->now_ns; /* without a start: since boot */
                        thread->lies += counted - span;
                        thread->blocked += counted;
                        thread->max = MAX_OF(thread->max, counted);
                        thread->min = thread->min == 0 ? counted : MIN_OF(thread->min, counted);
                        break;
                default: /* asleep */
                        break;
                }
        }
}

static ThreadSample sample_of(const Simulation *thread) {
        ThreadSample sample = thread_of("p", "t", 1);

        sample.start_ticks = thread->born_ns / (S / TICKS);
        put(&sample, METRIC_state, 'S');
        put(&sample, METRIC_run_time_ns, thread->run);
        put(&sample, METRIC_wait_time_ns, thread->wait);
        put(&sample, METRIC_blkio_delay_total_ns, thread->blocked);
        put(&sample, METRIC_blkio_delay_max_ns, thread->max);
        put(&sample, METRIC_blkio_delay_min_ns, thread->min);
        return sample;
}

static void check_honest_thread(int seed) {
        Simulation thread;
        ThreadSample samples[SIDES];
        JudgeTime times[SIDES];

        random_state = (uint64_t) seed;
        thread.born_ns = random_u64() % (100000 * S);
        thread = (Simulation){ .born_ns = thread.born_ns, .now_ns = thread.born_ns };
        for (unsigned i = 0; i < SIDES; i++) {
                simulate(&thread, N_STEPS, false);
                samples[i] = sample_of(&thread);
                times[i] = time_at(thread.now_ns);
        }
        judge_life(times, &samples[0], &samples[1]);
        for (unsigned i = 0; i < SIDES; i++)
                for (size_t word = 0; word < ELEMENTSOF(samples[i].implausible); word++)
                        ck_assert_uint_eq(samples[i].implausible[word] | samples[i].corrected[word],
                                          0);
}

START_TEST(honest_threads_lose_nothing) {
        for (int seed = 0; seed < check_rounds(N_SEEDS); seed++)
                check_honest_thread(seed);
}
END_TEST

/* Whatever one lie, what is shown of block I/O is true, or is possible at least. */
static void check_lie(int seed) {
        uint64_t first, last, blocked, lived;
        ThreadSample samples[SIDES];
        JudgeTime times[SIDES];
        Simulation thread;

        random_state = (uint64_t) seed;
        first = 5000 * S + random_u64() % (100000 * S);
        thread = (Simulation){ .born_ns = first, .now_ns = first };
        simulate(&thread, N_STEPS, random_u64() % 2);
        samples[0] = sample_of(&thread);
        times[0] = time_at(thread.now_ns);
        blocked = thread.blocked - thread.lies;
        simulate(&thread, N_STEPS, thread.lies == 0);
        samples[1] = sample_of(&thread);
        times[1] = time_at(thread.now_ns);
        lived = times[1].end_ns - thread.born_ns;
        judge_life(times, &samples[0], &samples[1]);

        first = get(&samples[0], METRIC_blkio_delay_total_ns);
        last = get(&samples[1], METRIC_blkio_delay_total_ns);
        ck_assert_uint_ne(first, ABSENT);
        ck_assert_uint_ne(last, ABSENT);
        ck_assert_uint_le(last, lived);
        /* The event that was a lie goes as a whole, with what was true of it. */
        ck_assert_uint_le(first, blocked);
        ck_assert_uint_ge(first + 300 * MS, blocked);
        ck_assert_uint_le(last, thread.blocked - thread.lies);
        ck_assert_uint_ge(last + 300 * MS, thread.blocked - thread.lies);
        ck_assert_uint_le(first, last);
        if (thread.lies > 0)
                ck_assert(!thread_sample_has(&samples[1], METRIC_blkio_delay_max_ns));
}

START_TEST(one_lie_is_never_shown) {
        for (int seed = 0; seed < check_rounds(N_SEEDS); seed++)
                check_lie(seed);
}
END_TEST

/* groups, whose threads are added up before they are compared */

static bool refutes(MetricId id, const char *states, uint64_t n_threads, uint64_t growth) {
        Aggregate *before = calloc(1, sizeof(*before));
        bool result;

        ck_assert_ptr_nonnull(before);
        for (size_t i = 0; states[i] != '\0'; i++) {
                ThreadSample sample = thread_with(METRIC_state, (uint64_t) states[i]);

                ck_assert_int_eq(aggregate_add(&before, &sample), 0);
        }
        result = judge_refutes_growth(id, before, n_threads, growth, 15 * S);
        aggregate_free(before);
        return result;
}

START_TEST(groups_grow_by_no_more_than_their_threads_can) {
        ck_assert(refutes(METRIC_blkio_delay_total_ns, "S", 1, 921 * S));
        ck_assert(!refutes(METRIC_blkio_delay_total_ns, "S", 1, 15 * S));
        ck_assert(!refutes(METRIC_blkio_delay_total_ns, "SS", 2, 30 * S));
        ck_assert(refutes(METRIC_blkio_delay_total_ns, "SS", 2, 31 * S));
        ck_assert(!refutes(METRIC_blkio_delay_total_ns, "SD", 2, 921 * S));
        ck_assert(!refutes(METRIC_blkio_delay_total_ns, "", 1, 921 * S)); /* no state known */
        ck_assert(!refutes(METRIC_minflt, "S", 1, 921 * S));
        ck_assert(refutes(METRIC_utime_clock_ticks, "S", 1, 16 * TICKS));
        ck_assert(!refutes(METRIC_utime_clock_ticks, "S", 1, 15 * TICKS));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("judge");
        TCase *rules = tcase_create("rules"), *properties = tcase_create("properties");

        tcase_add_loop_test(rules, no_time_exceeds_the_life, 0, ELEMENTSOF(life_rows));
        tcase_add_loop_test(rules, no_growth_exceeds_the_interval, 0, ELEMENTSOF(growth_rows));
        tcase_add_test(rules, who_waited_at_the_start_may_exceed_the_interval);
        tcase_add_test(rules, first_delays_grow_by_no_more_than_the_interval);
        tcase_add_test(rules, nothing_is_judged_without_times);
        tcase_add_test(rules, a_start_after_the_snapshot_is_not_judged);
        tcase_add_test(rules, every_total_of_times_is_judged);
        tcase_add_test(rules, groups_grow_by_no_more_than_their_threads_can);
        suite_add_tcase(suite, rules);
        tcase_add_test(properties, honest_threads_lose_nothing);
        tcase_add_test(properties, one_lie_is_never_shown);
        suite_add_tcase(suite, properties);
        return check_main(suite);
}
