/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/judge.h"

#include <string.h>

#include "base/bits.h"
#include "base/macro.h"
#include "base/number.h"
#include "analysis/group/life.h"

#define DEFAULT_USER_HZ 100
#define SLACK_PART 1000 /* of a bound: clocks are adjusted by at most 500 ppm */

/*
 * The totals of times, each with its longest event, if the kernel keeps it, and the states in which
 * a thread may be in the middle of such an event, which its total does not contain yet. Delays
 * other than block I/O also go on while the thread runs, and where a CPU runs without ticks, the
 * time of a running thread is booked up to a second late. Waits that programs count are read with
 * the one in progress.
 */
// clang-format off
#define NO_MAX _METRIC_MAX
#define DELAY(family, states)                                                                      \
        { METRIC_##family##_delay_total_ns, METRIC_##family##_delay_max_ns, states }

#define REASON(reason, text, ...) { METRIC_##reason##_wait_ns, NO_MAX, "" },

static const struct {
        MetricId id, max;
        const char *states;
} totals[] = {
        { METRIC_run_time_ns,         NO_MAX,                  "R" },
        { METRIC_wait_time_ns,        METRIC_cpu_delay_max_ns, "R" },
        { METRIC_wait_sum,            METRIC_wait_max,         "R" },
        { METRIC_voluntary_sleep_ns,  METRIC_sleep_max,        "S" },
        { METRIC_block_sum,           METRIC_block_max,        "DI" },
        { METRIC_iowait_sum,          NO_MAX,                  "DI" },
        { METRIC_utime_clock_ticks,   NO_MAX,                  "R" },
        { METRIC_stime_clock_ticks,   NO_MAX,                  "R" },
        DELAY(cpu,       "R"),
        DELAY(blkio,     "DI"),
        DELAY(swapin,    "DIR"),
        DELAY(freepages, "DIR"),
        DELAY(thrashing, "DIR"),
        DELAY(compact,   "DIR"),
        DELAY(wpcopy,    "DIR"),
        DELAY(irq,       "R"),
        { METRIC_storage_wait_ns,     NO_MAX,                  "" },
        { METRIC_uninterruptible_ns,  NO_MAX,                  "" },
        WAIT_REASONS(REASON)
        { METRIC_acct_run_real_ns,    NO_MAX,                  "R" },
        { METRIC_acct_run_virtual_ns, NO_MAX,                  "R" },
        { METRIC_acct_utime_ns,       NO_MAX,                  "R" },
        { METRIC_acct_stime_ns,       NO_MAX,                  "R" },
};

/* Times that exclude each other; the last one is not believed when they exceed the life. */
static const MetricId accounts[][3] = {
        { METRIC_run_time_ns, METRIC_wait_time_ns, METRIC_blkio_delay_total_ns },
        { METRIC_run_time_ns, METRIC_wait_time_ns, METRIC_block_sum },
};
// clang-format on

/* The longest and shortest events, a bit for each metric. */
#define IS_EVENT(type)                                  \
        ((METRIC_KIND_OF(type) == METRIC_KIND_PEAK ||   \
          METRIC_KIND_OF(type) == METRIC_KIND_FLOOR) && \
         METRIC_UNIT_OF(type) == METRIC_UNIT_NS)
#define EVENT_IN_0(member, type, ...) METRIC_BIT(0, IS_EVENT(type), member)
#define EVENT_IN_1(member, type, ...) METRIC_BIT(1, IS_EVENT(type), member)
#define EVENT_IN_2(member, type, ...) METRIC_BIT(2, IS_EVENT(type), member)
static const uint64_t events[] = { 0 METRICS(EVENT_IN_0), 0 METRICS(EVENT_IN_1),
                                   0 METRICS(EVENT_IN_2) };
_Static_assert(ELEMENTSOF(events) == BITS_WORDS(_METRIC_MAX), "a word for each 64 metrics");

#define N_TOTALS ELEMENTSOF(totals)
_Static_assert(N_TOTALS == JUDGE_N_TOTALS, "judge.h counts them");

/* Impossible is the part of each total that was found to be none. */
typedef struct Impossible {
        uint64_t ns[N_TOTALS];  /* in total; 0: nothing */
        uint64_t max[N_TOTALS]; /* the longest event when it was refuted; 0: it was not */
        bool has_max;           /* one was */
} Impossible;

/* The most that a thread may have in a time, in ns. */
static uint64_t bound_of(uint64_t ns, uint64_t tick_ns) {
        return number_add_saturating(ns, number_add_saturating(tick_ns, ns / SLACK_PART));
}

uint64_t judge_ns(MetricId id, uint64_t value, uint64_t tick_ns) {
        return metric_table[id].unit == METRIC_UNIT_TICKS
                       ? number_multiply_saturating(value, tick_ns)
                       : value;
}

JudgeTime judge_time_of(const Head *head) {
        uint64_t hz = head->has_user_hz && head->user_hz > 0 ? head->user_hz : DEFAULT_USER_HZ;

        if (!head->has_start_boottime || !head->has_end_boottime ||
            head->end_boottime_ns < head->start_boottime_ns)
                return (JudgeTime){ .known = false };
        return (JudgeTime){
                .known = true,
                .start_ns = head->start_boottime_ns,
                .end_ns = head->end_boottime_ns,
                .tick_ns = MAX_OF(NSEC_PER_SEC / hz, UINT64_C(1)),
        };
}

uint64_t judge_interval_ns(const JudgeTime times[static SIDES]) {
        if (!times[SIDE_BEFORE].known || !times[SIDE_AFTER].known ||
            times[SIDE_AFTER].start_ns < times[SIDE_BEFORE].start_ns)
                return 0;
        return times[SIDE_AFTER].end_ns - times[SIDE_BEFORE].start_ns;
}

/* threads that live */

/*
 * @impossible: what an earlier snapshot of the thread proved; this one's is added. The longest
 * event of a total goes first, because it explains an impossible total.
 */
static void judge(const JudgeTime *time, ThreadSample *sample, Impossible *impossible) {
        uint64_t born_ns, tick_ns = time->tick_ns, life_ns;

        if (!time->known)
                return;
        born_ns = number_multiply_saturating(sample->start_ticks, time->tick_ns);
        if (born_ns > time->end_ns)
                return; /* of another boot or clock: nothing is known */
        life_ns = bound_of(time->end_ns - born_ns, tick_ns);
        for (size_t i = 0; i < N_TOTALS; i++) {
                MetricId id = totals[i].id, max = totals[i].max;
                uint64_t event = 0, total;

                if (max != NO_MAX && thread_sample_has(sample, max)) {
                        event = thread_sample_get(sample, max);
                        if (event <= life_ns && event != impossible->max[i])
                                event = 0;
                }
                if (event > 0 && event != impossible->max[i]) {
                        impossible->ns[i] = number_add_saturating(impossible->ns[i], event);
                        impossible->max[i] = event;
                        impossible->has_max = true;
                }
                if (!thread_sample_has(sample, id))
                        continue;
                total = thread_sample_get(sample, id);
                if (impossible->ns[i] == 0 ||
                    (impossible->ns[i] > total && judge_ns(id, total, tick_ns) <= life_ns)) {
                        /* Nothing to subtract, or the two were not read at one moment. */
                        if (judge_ns(id, total, tick_ns) > life_ns)
                                thread_sample_refute(sample, id);
                        continue;
                }
                if (impossible->ns[i] > total || total - impossible->ns[i] > life_ns)
                        thread_sample_refute(sample, id);
                else
                        thread_sample_correct(sample, id, total - impossible->ns[i]);
        }

        /* The longest and shortest events, after the totals have used them. */
        for (unsigned word = 0; word < ELEMENTSOF(events); word++)
                for (uint64_t bits = sample->present[word] & events[word]; bits; bits &= bits - 1) {
                        MetricId id = (MetricId) (word * 64 + (unsigned) __builtin_ctzll(bits));

                        if (thread_sample_get(sample, id) > life_ns)
                                thread_sample_refute(sample, id);
                }
        for (size_t i = 0; impossible->has_max && i < N_TOTALS; i++) {
                MetricId max = totals[i].max;

                if (impossible->max[i] > 0 && thread_sample_has(sample, max) &&
                    thread_sample_get(sample, max) == impossible->max[i])
                        thread_sample_refute(sample, max);
        }

        for (size_t i = 0; i < ELEMENTSOF(accounts); i++) {
                uint64_t sum = 0;
                bool known = true;

                for (unsigned j = 0; j < ELEMENTSOF(accounts[i]); j++) {
                        known = known && thread_sample_has(sample, accounts[i][j]);
                        if (known)
                                sum = number_add_saturating(
                                        sum, thread_sample_get(sample, accounts[i][j]));
                }
                if (known && sum > life_ns)
                        thread_sample_refute(sample, accounts[i][2]);
        }
}

/* The thread may have been in the middle of an event that its total does not contain yet. */
static bool was_waiting(const ThreadSample *sample, const char *states) {
        return !thread_sample_has(sample, METRIC_state) ||
               strchr(states, (char) thread_sample_get(sample, METRIC_state));
}

void judge_life(const JudgeTime times[static SIDES], ThreadSample *before, ThreadSample *after) {
        uint64_t interval_ns, most_ns, tick_ns = times[SIDE_AFTER].tick_ns;
        Impossible impossible = {};

        if (before)
                judge(&times[SIDE_BEFORE], before, &impossible);
        if (after)
                judge(&times[SIDE_AFTER], after, &impossible);
        if (!before || !after)
                return;
        interval_ns = judge_interval_ns(times);
        if (interval_ns == 0)
                return;
        most_ns = bound_of(interval_ns, tick_ns);
        for (size_t i = 0; i < N_TOTALS; i++) {
                MetricId id = totals[i].id, max = totals[i].max;
                uint64_t first, last, event, record;

                if (!thread_sample_has(after, id) || !life_before(before, after, id, &first))
                        continue;
                last = thread_sample_get(after, id);
                if (last < first || judge_ns(id, last - first, tick_ns) <= most_ns ||
                    was_waiting(before, totals[i].states))
                        continue;
                /* The longest event ended inside if the record rose; did it alone spoil it? */
                if (max != NO_MAX && thread_sample_has(after, max) &&
                    life_before(before, after, max, &record) &&
                    thread_sample_get(after, max) > record &&
                    thread_sample_get(after, max) > most_ns) {
                        event = thread_sample_get(after, max);
                        thread_sample_refute(after, max);
                        if (last - first >= event && last - first - event <= most_ns) {
                                thread_sample_correct(after, id, last - event);
                                continue;
                        }
                }
                thread_sample_refute(after, id);
        }
}

/* threads that ended */

#define MOST_LATE_NS NSEC_PER_SEC /* by which the time of a running thread is booked late */

MetricId judge_total(unsigned i) {
        return totals[i].id;
}

void judge_add_early(uint64_t early_ns[static JUDGE_N_TOTALS], const ThreadSample *vanished,
                     uint64_t age_ns) {
        for (size_t i = 0; i < N_TOTALS; i++) {
                /* Running is no event: only its last stretch may be missing. */
                bool is_of_running = totals[i].max == NO_MAX && strcmp(totals[i].states, "R") == 0;
                uint64_t most = is_of_running ? MIN_OF(age_ns, MOST_LATE_NS) : age_ns;

                if (was_waiting(vanished, totals[i].states))
                        early_ns[i] = number_add_saturating(early_ns[i], most);
        }
}

uint64_t judge_most_ns(uint64_t n_threads, uint64_t interval_ns, uint64_t tick_ns) {
        return number_multiply_saturating(n_threads, bound_of(interval_ns, tick_ns));
}

/* groups */

bool judge_refutes_growth(MetricId id, const Aggregate *before, uint64_t n_threads, uint64_t growth,
                          uint64_t interval_ns) {
        for (size_t i = 0; i < N_TOTALS; i++) {
                uint64_t most_ns = bound_of(interval_ns, NSEC_PER_SEC / DEFAULT_USER_HZ);

                if (totals[i].id != id || interval_ns == 0)
                        continue;
                if (before->present[METRIC_state] == 0)
                        return false;
                for (const char *state = totals[i].states; *state != '\0'; state++)
                        if (aggregate_n_with_word(before, METRIC_state, (unsigned char) *state) > 0)
                                return false;
                return judge_ns(id, growth, NSEC_PER_SEC / DEFAULT_USER_HZ) >
                       number_multiply_saturating(most_ns, n_threads);
        }
        return false;
}
