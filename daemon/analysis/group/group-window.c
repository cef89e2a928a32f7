/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group-window.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/number.h"

#define WORDS ELEMENTSOF(((ThreadSample *) NULL)->present)

#define RECORD_SLOT(member, ...) [METRIC_##member] = RECORD_##member,
static const uint8_t record_slots[_METRIC_MAX] = { METRICS(RECORD_SLOT) };
_Static_assert(_RECORD_MAX <= UINT8_MAX, "slots are eight bits wide");

static bool is_work(unsigned id) {
        return metric_is_work((MetricId) id);
}

int group_window_new(GroupWindow **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

GroupWindow *group_window_free(GroupWindow *window) {
        if (!window)
                return NULL;
        aggregate_free(window->gone);
        free(window->falls);
        free(window->gaps);
        free(window);
        return NULL;
}

void life_counts_add(LifeCounts *counts, const ThreadSample *before, const ThreadSample *after) {
        counts->survived += before && after;
        counts->born += !before;
        counts->gone += !after;
}

void life_counts_merge(LifeCounts *counts, const LifeCounts *from) {
        counts->survived += from->survived;
        counts->born += from->born;
        counts->gone += from->gone;
        counts->fleeting = amount_add_known(counts->fleeting, from->fleeting);
        counts->exits = amount_add_known(counts->exits, from->exits);
}

uint64_t metric_further(MetricId id, uint64_t a, uint64_t b) {
        if (metric_table[id].kind == METRIC_KIND_PEAK)
                return MAX_OF(a, b);
        if (a == 0 || b == 0)
                return a + b;
        return MIN_OF(a, b);
}

static bool has_any_of(const ThreadSample *sample, SourceId source) {
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (metric_table[id].explained_by == source &&
                    thread_sample_has(sample, (MetricId) id))
                        return true;
        return false;
}

/* The delay was 0 if the thread has delay accounting at all. */
static bool left_delays_out(const ThreadSample *sample, MetricId id) {
        SourceId source = metric_table[id].explained_by;

        if (source != SOURCE_TASKSTATS_DELAY && source != SOURCE_TASKSTATS_IRQ)
                return false;
        return thread_sample_has(sample, METRIC_cpu_delay_count) && !has_any_of(sample, source);
}

bool life_before(const ThreadSample *before, const ThreadSample *after, MetricId id,
                 uint64_t *ret) {
        *ret = 0;
        if (thread_sample_has(before, id)) {
                *ret = thread_sample_get(before, id);
                return true;
        }
        return thread_sample_has(after, id) && left_delays_out(before, id);
}

bool life_value_of_gone(const ThreadSample *gone, MetricId id, uint64_t *ret) {
        bool known = thread_sample_has(gone, id);

        *ret = known ? thread_sample_get(gone, id) : 0;
        return known || left_delays_out(gone, id);
}

bool life_grown(const ThreadSample *before, const ThreadSample *after, MetricId id, uint64_t *ret) {
        uint64_t from;

        if (!thread_sample_has(after, id) || !life_before(before, after, id, &from) ||
            from > thread_sample_get(after, id))
                return false;
        *ret = thread_sample_get(after, id) - from;
        return true;
}

void life_work(const ThreadSample *before, const ThreadSample *after, ThreadSample *ret) {
        ThreadSample work = *after;

        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                uint64_t grown;

                if (!is_work(i) || !thread_sample_has(&work, id))
                        continue;
                if (life_grown(before, after, id, &grown))
                        thread_sample_put(&work, id, grown);
                else
                        thread_sample_drop(&work, id);
        }
        *ret = work;
}

void life_work_of_born(const ThreadSample *born, ThreadSample *ret) {
        *ret = *born;
        for (unsigned i = 0; i < _METRIC_MAX; i++)
                if (is_work(i) && life_may_inherit(born, (MetricId) i))
                        thread_sample_drop(ret, (MetricId) i);
}

/* folding */

static int note_gap(GroupWindow *window, unsigned side, unsigned id) {
        if (!window->gaps) {
                window->gaps = calloc(1, sizeof(*window->gaps));
                if (!window->gaps)
                        return -ENOMEM;
        }
        window->gaps->only[side][id]++;
        return 0;
}

static int note_fall(GroupWindow *window, unsigned id, uint64_t lost) {
        if (!window->falls) {
                window->falls = calloc(1, sizeof(*window->falls));
                if (!window->falls)
                        return -ENOMEM;
        }
        window->falls->n[id]++;
        window->falls->lost[id] += lost;
        return 0;
}

/* @from: what the thread had before; a minimum of 0 means that there was no event yet. */
static bool has_moved(unsigned id, uint64_t from, uint64_t to) {
        if (metric_table[id].kind == METRIC_KIND_PEAK)
                return to > from;
        return metric_table[id].kind == METRIC_KIND_FLOOR && to > 0 && (from == 0 || to < from);
}

static void keep_further(GroupWindowRecords *records, unsigned side, unsigned id, uint64_t value) {
        uint64_t *kept = &records->values[side][record_slots[id]];

        *kept = metric_further((MetricId) id, *kept, value);
}

/* Of a survivor. */
static void note_move(GroupWindow *window, unsigned id, uint64_t from, uint64_t to) {
        if (!has_moved(id, from, to))
                return;
        group_window_note_record(window, (MetricId) id, to);
        bits_set(window->records.had, id);
        keep_further(&window->records, SIDE_BEFORE, id, from);
}

/*
 * A peak in bytes is that of the memory of the whole process: of a thread that was born it is news
 * only if its process was born with it.
 */
static void note_birth(GroupWindow *window, const ThreadSample *after) {
        for (unsigned word = 0; word < WORDS; word++) {
                for (uint64_t bits = after->present[word]; bits != 0; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);
                        uint64_t value = thread_sample_get(after, (MetricId) id);

                        if (has_moved(id, 0, value) &&
                            (metric_table[id].unit != METRIC_UNIT_BYTES ||
                             after->tid == after->tgid))
                                group_window_note_record(window, (MetricId) id, value);
                }
        }
}

/*
 * Keeps the sums whose values on both sides of a survivor are known and drops the others. What was
 * 0 before, as the value after shows, is put in: sums, peaks and minima alike. @before is a copy of
 * @read.
 */
static int match_sums(GroupWindow *window, const ThreadSample *read, ThreadSample *before,
                      ThreadSample *after) {
        for (unsigned word = 0; word < WORDS; word++) {
                uint64_t bits = before->present[word] | after->present[word];

                for (; bits != 0; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);
                        bool in_before, in_after;
                        uint64_t from;
                        int r;

                        in_after = thread_sample_has(after, (MetricId) id);
                        in_before = thread_sample_has(read, (MetricId) id);
                        if (in_before) {
                                from = thread_sample_get(read, (MetricId) id);
                        } else {
                                in_before = life_before(read, after, (MetricId) id, &from);
                                if (in_before)
                                        thread_sample_put(before, (MetricId) id, from);
                        }
                        if (!is_work(id)) {
                                if (in_before && in_after)
                                        note_move(window, id, from,
                                                  thread_sample_get(after, (MetricId) id));
                                continue;
                        }
                        if (in_before && in_after) {
                                uint64_t to = thread_sample_get(after, (MetricId) id);

                                r = to < from ? note_fall(window, id, from - to) : 0;
                        } else {
                                thread_sample_drop(in_before ? before : after, (MetricId) id);
                                r = note_gap(window, in_before ? 0 : 1, id);
                        }
                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

static void note_inherited(GroupWindow *window, const ThreadSample *born,
                           const ThreadSample *work) {
        for (unsigned word = 0; word < WORDS; word++)
                window->inherited[word] |= born->present[word] & ~work->present[word];
}

static int fold_side(Aggregate **side, const ThreadSample *sample) {
        int r = *side ? 0 : aggregate_new(side);

        return r == 0 ? aggregate_fold(*side, sample) : r;
}

int group_window_fold(GroupWindow *window, Aggregate *sides[static SIDES],
                      const ThreadSample *before, const ThreadSample *after) {
        ThreadSample parts[SIDES];
        int r;

        life_counts_add(&window->lives, before, after);
        if (!before) {
                note_birth(window, after);
                life_work_of_born(after, &parts[SIDE_AFTER]);
                note_inherited(window, after, &parts[SIDE_AFTER]);
                return fold_side(&sides[SIDE_AFTER], &parts[SIDE_AFTER]);
        }
        parts[SIDE_BEFORE] = *before;
        if (after) {
                parts[SIDE_AFTER] = *after;
                r = match_sums(window, before, &parts[SIDE_BEFORE], &parts[SIDE_AFTER]);
                if (r == 0)
                        r = fold_side(&sides[SIDE_BEFORE], &parts[SIDE_BEFORE]);
                return r == 0 ? fold_side(&sides[SIDE_AFTER], &parts[SIDE_AFTER]) : r;
        }
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (is_work(id))
                        thread_sample_drop(&parts[SIDE_BEFORE], (MetricId) id);
        r = fold_side(&sides[SIDE_BEFORE], &parts[SIDE_BEFORE]);
        return r == 0 ? fold_side(&window->gone, before) : r;
}

/* settling */

int group_window_settle(GroupWindow *window, Aggregate *sides[static SIDES]) {
        Aggregate *before, *after = sides[SIDE_AFTER];
        int r;

        if (!after) { /* the group is gone: list it as it stood */
                aggregate_free(sides[SIDE_BEFORE]);
                sides[SIDE_BEFORE] = TAKE_PTR(window->gone);
                return 0;
        }
        if (!sides[SIDE_BEFORE]) {
                r = aggregate_new(&sides[SIDE_BEFORE]);
                if (r != 0)
                        return r;
        }
        before = sides[SIDE_BEFORE];
        /*
         * A thread takes part in a sum on both sides or on neither; threads that were born and do
         * began at 0.
         */
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                if (is_work(id))
                        before->present[id] = after->present[id];
        if (!aggregate_has(before, METRIC_thread_count))
                before->present[METRIC_thread_count] = 1; /* it is known to be 0 */
        return 0;
}

static void adopt_gaps(GroupWindow *window, GroupWindow *from) {
        if (!from->gaps)
                return;
        if (!window->gaps) {
                window->gaps = TAKE_PTR(from->gaps);
                return;
        }
        for (unsigned side = 0; side < SIDES; side++)
                for (unsigned id = 0; id < _METRIC_MAX; id++)
                        window->gaps->only[side][id] += from->gaps->only[side][id];
}

static void adopt_falls(GroupWindow *window, GroupWindow *from) {
        if (!from->falls)
                return;
        if (!window->falls) {
                window->falls = TAKE_PTR(from->falls);
                return;
        }
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                window->falls->n[id] += from->falls->n[id];
                window->falls->lost[id] += from->falls->lost[id];
        }
}

static void adopt_records(GroupWindowRecords *records, const GroupWindowRecords *from) {
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                for (unsigned side = 0; side < SIDES && bits_has(from->moved, id); side++)
                        keep_further(records, side, id, from->values[side][record_slots[id]]);
        for (unsigned i = 0; i < ELEMENTSOF(records->moved); i++) {
                records->moved[i] |= from->moved[i];
                records->had[i] |= from->had[i];
        }
}

void group_window_adopt(GroupWindow *window, GroupWindow *from) {
        life_counts_merge(&window->lives, &from->lives);
        adopt_records(&window->records, &from->records);
        for (unsigned i = 0; i < ELEMENTSOF(window->inherited); i++)
                window->inherited[i] |= from->inherited[i];
        adopt_gaps(window, from);
        adopt_falls(window, from);
        group_window_free(from);
}

/* asking */

bool group_window_fell(const GroupWindow *window, MetricId id) {
        return window->falls && window->falls->n[id] > 0;
}

bool group_window_inherited(const GroupWindow *window, MetricId id) {
        return bits_has(window->inherited, id);
}

void group_window_note_record(GroupWindow *window, MetricId id, uint64_t value) {
        bits_set(window->records.moved, id);
        keep_further(&window->records, SIDE_AFTER, id, value);
}

bool group_window_moved(const GroupWindow *window, MetricId id) {
        return bits_has(window->records.moved, id);
}

bool group_window_record(const GroupWindow *window, unsigned side, MetricId id, uint64_t *ret) {
        const GroupWindowRecords *records = &window->records;
        bool known = bits_has(side == SIDE_AFTER ? records->moved : records->had, id);

        *ret = known ? records->values[side][record_slots[id]] : 0;
        return known;
}

WindowSum group_window_sum(const GroupWindow *window, Aggregate *const sides[static SIDES],
                           MetricId id) {
        const Aggregate *before = sides[SIDE_BEFORE], *after = sides[SIDE_AFTER];
        uint32_t n_fell = window->falls ? window->falls->n[id] : 0;
        uint64_t lost = window->falls ? window->falls->lost[id] : 0;

        /* What is left of a sum that stopped at 2^64-1 is not known. */
        if (!metric_is_work(id) || after->present[id] <= n_fell ||
            aggregate_is_saturated(before, id) || aggregate_is_saturated(after, id))
                return (WindowSum){ .present = 0 };
        /* Between the steps this may wrap; in the end it is a sum of growths. */
        return (WindowSum){
                .value = aggregate_sum(after, id) + lost - aggregate_sum(before, id),
                .present = after->present[id] - n_fell,
        };
}

void group_window_work(const GroupWindow *window, Aggregate *const sides[static SIDES],
                       Aggregate *ret) {
        const Aggregate *after = sides[SIDE_AFTER];

        *ret = (Aggregate){ .n_threads = after->n_threads, .doubts = after->doubts };
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                WindowSum sum = group_window_sum(window, sides, (MetricId) i);

                if (sum.present > 0)
                        aggregate_put_sum(ret, (MetricId) i, sum.value, sum.present);
        }
}

uint64_t group_window_left_out(const GroupWindow *window, MetricId id) {
        if (!window->gaps)
                return 0;
        return (uint64_t) window->gaps->only[0][id] + window->gaps->only[1][id];
}
