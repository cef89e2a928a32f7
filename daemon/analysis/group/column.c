/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/column.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/index.h"
#include "base/number.h"

#define WORDS ELEMENTSOF(((ThreadSample *) NULL)->present)

#define RECORD_SLOT(member, ...) [METRIC_##member] = RECORD_##member,
static const uint8_t record_slots[_METRIC_MAX] = { METRICS(RECORD_SLOT) };
_Static_assert(_RECORD_MAX <= UINT8_MAX, "slots are eight bits wide");

void group_column_done(GroupColumn *of) {
        for (unsigned end = 0; end < SIDES; end++) {
                aggregate_free(of->ends[end]);
                spread_done(&of->spreads[end]);
        }
        if (of->work) {
                aggregate_free(of->work->vanished);
                free(of->work->falls);
                free(of->work->gaps);
                free(of->work->records);
        }
        free(of->work);
        free(of->exited);
        member_list_done(&of->starters);
        *of = (GroupColumn){ .work = NULL };
}

/* adding */

/*
 * The metrics that are compared at both ends of a column: those of work, and also peaks and minima.
 */
#define IS_WORK(member, type)                           \
        (METRIC_KIND_OF(type) == METRIC_KIND_COUNTER && \
         (int) METRIC_##member != METRIC_thread_count)
#define WORK_IN_0(member, type, ...) METRIC_BIT(0, IS_WORK(member, type), member)
#define WORK_IN_1(member, type, ...) METRIC_BIT(1, IS_WORK(member, type), member)
#define WORK_IN_2(member, type, ...) METRIC_BIT(2, IS_WORK(member, type), member)
#define RECORD_IN_0(member, type, ...) METRIC_BIT(0, RECORD_IS_KEPT(type), member)
#define RECORD_IN_1(member, type, ...) METRIC_BIT(1, RECORD_IS_KEPT(type), member)
#define RECORD_IN_2(member, type, ...) METRIC_BIT(2, RECORD_IS_KEPT(type), member)
static const uint64_t work_bits[] = { 0 METRICS(WORK_IN_0), 0 METRICS(WORK_IN_1),
                                      0 METRICS(WORK_IN_2) };
static const uint64_t record_bits[] = { 0 METRICS(RECORD_IN_0), 0 METRICS(RECORD_IN_1),
                                        0 METRICS(RECORD_IN_2) };
_Static_assert(ELEMENTSOF(work_bits) == BITS_WORDS(_METRIC_MAX), "a word for each 64 metrics");

/* Makes what a pointer owns, zeroed, unless it is there. 0 or -ENOMEM. */
#define OBTAIN(pointer) ((pointer) || ((pointer) = calloc(1, sizeof(*(pointer)))) ? 0 : -ENOMEM)

/* @from: what the thread had before; a minimum of 0 means that there was no event yet. */
static bool has_moved(unsigned id, uint64_t from, uint64_t to) {
        if (metric_table[id].kind == METRIC_KIND_PEAK)
                return to > from;
        return metric_table[id].kind == METRIC_KIND_FLOOR && to > 0 && (from == 0 || to < from);
}

/* Notes what a thread had at that end whose record moved. */
static int note_record(ColumnWork *work, Side end, unsigned id, uint64_t value) {
        uint64_t *kept;
        int r = OBTAIN(work->records);

        if (r != 0)
                return r;
        bits_set(work->records->known[end], id);
        kept = &work->records->values[end][record_slots[id]];
        *kept = metric_further((MetricId) id, *kept, value);
        return 0;
}

static const MetricId life_total_metrics[] = {
        [LIFE_TOTAL_ALLOCATED] = METRIC_allocated_bytes,
        [LIFE_TOTAL_DEALLOCATED] = METRIC_deallocated_bytes,
        [LIFE_TOTAL_AGE] = METRIC_acct_elapsed_ns,
};
_Static_assert(ELEMENTSOF(life_total_metrics) == _LIFE_TOTAL_MAX, "a metric for each total");

/*
 * Turns @after into what the thread did: all that it has, without the sums that it may have
 * inherited.
 */
static int add_born(const Column *column, ColumnWork *of, const ThreadSample *after,
                    ThreadSample *work) {
        *work = *after;
        for (unsigned word = 0; word < WORDS; word++)
                for (uint64_t bits = after->present[word]; bits != 0; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);
                        uint64_t value = thread_sample_get(after, (MetricId) id);
                        int r;

                        if (metric_is_work((MetricId) id) &&
                            life_may_inherit(after, (MetricId) id)) {
                                thread_sample_drop(work, (MetricId) id);
                                bits_set(of->inherited, id);
                        }
                        /*
                         * A peak in bytes is that of the memory of the whole process: it is news
                         * only if the process was born with the thread.
                         */
                        if (!column->setup.keeps_begin || !has_moved(id, 0, value) ||
                            (metric_table[id].unit == METRIC_UNIT_BYTES &&
                             after->tid != after->tgid))
                                continue;
                        r = note_record(of, SIDE_AFTER, id, value);
                        if (r != 0)
                                return r;
                }
        return 0;
}

/*
 * Turns the sums of @work, a copy of @after, into growth, and drops those of which it is not known.
 * In @begin, a copy of @read, or NULL where levels at the begin are not kept, stay the sums whose
 * values are known at both ends. A value that was 0 before, as the one after shows, is put in:
 * sums, peaks and minima alike.
 */
static int match_survivor(ColumnWork *of, const ThreadSample *read, const ThreadSample *after,
                          ThreadSample *begin, ThreadSample *work) {
        for (unsigned word = 0; word < WORDS; word++) {
                uint64_t both = read->present[word] & after->present[word] & work_bits[word];
                uint64_t rest = (read->present[word] | after->present[word]) &
                                (work_bits[word] | record_bits[word]) & ~both;

                /* Most counters are known at both ends and did not fall. */
                for (; both != 0; both &= both - 1) {
                        uint16_t at =
                                thread_sample_slots[word * 64 + (unsigned) __builtin_ctzll(both)];
                        const uint64_t *from = (const void *) ((const char *) read + at);
                        const uint64_t *to = (const void *) ((const char *) after + at);

                        if (*to < *from)
                                rest |= both & -both;
                        else
                                *(uint64_t *) (void *) ((char *) work + at) = *to - *from;
                }
                for (uint64_t bits = rest; bits != 0; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);
                        MetricId metric = (MetricId) id;
                        bool is_work = bits_has(work_bits, id), in_after, in_before;
                        uint64_t from, to;
                        int r = 0;

                        in_after = thread_sample_has(after, metric);
                        to = in_after ? thread_sample_get(after, metric) : 0;
                        in_before = life_before(read, after, metric, &from);
                        if (begin && in_before && !thread_sample_has(read, metric))
                                thread_sample_put(begin, metric, from);
                        if (!is_work) {
                                if (!begin || !in_before || !in_after || !has_moved(id, from, to))
                                        continue;
                                r = note_record(of, SIDE_AFTER, id, to);
                                if (r == 0)
                                        r = note_record(of, SIDE_BEFORE, id, from);
                        } else if (!in_before || !in_after) {
                                if (!in_before)
                                        thread_sample_drop(work, metric);
                                else if (begin)
                                        thread_sample_drop(begin, metric);
                                r = OBTAIN(of->gaps);
                                if (r == 0)
                                        of->gaps->only[in_before ? SIDE_BEFORE : SIDE_AFTER][id]++;
                        } else if (to < from) {
                                if (begin)
                                        thread_sample_drop(begin, metric);
                                thread_sample_drop(work, metric);
                                r = OBTAIN(of->falls);
                                if (r == 0) {
                                        sum_add(&of->falls->sums[SIDE_BEFORE][id],
                                                (Sum){ .value = from, .present = 1 });
                                        sum_add(&of->falls->sums[SIDE_AFTER][id],
                                                (Sum){ .value = to, .present = 1 });
                                }
                        } else {
                                thread_sample_put(work, metric, to - from);
                        }
                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

int column_add(const Column *column, GroupColumn *of, const ThreadSample *before,
               const ThreadSample *after) {
        bool keeps_begin = column->setup.keeps_begin;
        ThreadSample begin, work;
        uint64_t life[2];
        int r;

        life_tally_add(&of->tally, &column->period, before, after);
        if (!column->setup.has_begin) {
                /*
                 * A thread is identified by its tid and start. The hashes are added because the
                 * order of threads is arbitrary. Nobody can choose threads whose sums are equal:
                 * the seed is secret.
                 */
                life[0] = (uint64_t) after->tid;
                life[1] = after->start_ticks;
                of->lives +=
                        hash_bytes((Span){ (const char *) life, sizeof(life) }, column->life_seed);
                r = aggregate_add(&of->ends[SIDE_AFTER], after);
                if (r == 0 && column->spread_names)
                        r = spread_add_sample(&of->spreads[SIDE_AFTER], column->spread_names,
                                              after);
                return r;
        }
        r = OBTAIN(of->work);
        if (r == 0 && !after && column->setup.has_ledger)
                r = OBTAIN(of->exited);
        if (r != 0)
                return r;
        of->work->lives.survived += before && after;
        of->work->lives.born += !before;
        of->work->lives.vanished += !after;
        if (!after) {
                if (column->setup.has_ledger)
                        group_exited_add_vanished(of->exited, &column->period, before);
                if (!keeps_begin)
                        return 0;
                /* A group is listed as it stood if all of its threads are gone. */
                begin = *before;
                for (unsigned id = 0; id < _METRIC_MAX; id++)
                        if (metric_is_work((MetricId) id))
                                thread_sample_drop(&begin, (MetricId) id);
                r = aggregate_add(&of->ends[SIDE_BEFORE], &begin);
                if (r == 0)
                        r = aggregate_add(&of->work->vanished, before);
                if (r == 0 && column->spread_names)
                        r = spread_add_sample(&of->spreads[SIDE_BEFORE], column->spread_names,
                                              before);
                return r;
        }
        for (unsigned i = 0; i < _LIFE_TOTAL_MAX; i++)
                if (thread_sample_has(after, life_total_metrics[i]))
                        sum_add(&of->work->totals[i],
                                (Sum){ .value = thread_sample_get(after, life_total_metrics[i]),
                                       .present = 1 });
        if (before) {
                if (keeps_begin)
                        begin = *before;
                work = *after;
                r = match_survivor(of->work, before, after, keeps_begin ? &begin : NULL, &work);
                if (r == 0 && keeps_begin)
                        r = aggregate_add(&of->ends[SIDE_BEFORE], &begin);
        } else {
                r = add_born(column, of->work, after, &work);
        }
        if (r == 0)
                r = aggregate_add(&of->ends[SIDE_AFTER], &work);
        /* The spread of an interval beside another is not shown. */
        if (r == 0 && keeps_begin && column->spread_names)
                r = spread_add_sample(&of->spreads[SIDE_AFTER], column->spread_names, &work);
        return r;
}

int column_add_ended(GroupColumn *of, Side end, const ExitedRow *row) {
        int r = OBTAIN(of->exited);

        if (r != 0)
                return r;
        group_exited_add_row(of->exited, end, row);
        if (!row->started_by.bytes)
                return 0;
        of->tells_starters = true;
        if (row->sample.has_kthread && row->sample.kthread)
                return 0; /* nobody starts those */
        return member_list_add_ended(&of->starters, row->started_by,
                                     end == SIDE_AFTER ? row->exits : -row->exits);
}

/* merging */

static void merge_work(ColumnWork *work, ColumnWork *from) {
        ColumnGaps *gaps = work->gaps;
        ColumnFalls *falls = work->falls;

        work->lives.survived += from->lives.survived;
        work->lives.born += from->lives.born;
        work->lives.vanished += from->lives.vanished;
        work->lives.short_lived =
                amount_add_known(work->lives.short_lived, from->lives.short_lived);
        work->lives.exits = amount_add_known(work->lives.exits, from->lives.exits);
        for (unsigned i = 0; i < _LIFE_TOTAL_MAX; i++)
                sum_add(&work->totals[i], from->totals[i]);
        for (unsigned i = 0; i < ELEMENTSOF(work->inherited); i++)
                work->inherited[i] |= from->inherited[i];
        if (!gaps)
                work->gaps = TAKE_PTR(from->gaps);
        if (!falls)
                work->falls = TAKE_PTR(from->falls);
        if (!work->records)
                work->records = TAKE_PTR(from->records);
        if (!work->vanished)
                work->vanished = TAKE_PTR(from->vanished);
        /* Both have the parts that are still in @from. */
        for (unsigned end = 0; end < SIDES; end++)
                for (unsigned id = 0; id < _METRIC_MAX; id++) {
                        if (from->gaps)
                                gaps->only[end][id] += from->gaps->only[end][id];
                        if (from->falls)
                                sum_add(&falls->sums[end][id], from->falls->sums[end][id]);
                        if (from->records && bits_has(from->records->known[end], id))
                                (void) note_record(work, (Side) end, id,
                                                   from->records->values[end][record_slots[id]]);
                }
}

int group_column_merge(GroupColumn *of, GroupColumn *from) {
        int r = member_list_merge(&of->starters, &from->starters);

        if (r != 0)
                return r;
        of->tells_starters = of->tells_starters || from->tells_starters;
        of->lives += from->lives;
        for (unsigned end = 0; end < SIDES; end++) {
                if (!from->ends[end])
                        continue;
                assert(!of->ends[end]);
                of->ends[end] = TAKE_PTR(from->ends[end]);
                spread_done(&of->spreads[end]);
                of->spreads[end] = TAKE(from->spreads[end], (Spread){});
        }
        life_tally_merge(&of->tally, &from->tally);
        group_exited_adopt(&of->exited, &from->exited);
        /* A group of which only the exit accounting knows has no work yet. */
        if (!of->work)
                of->work = TAKE_PTR(from->work);
        else if (from->work)
                merge_work(of->work, from->work);
        group_column_done(from);
        return 0;
}

/* settling */

static int settle_ended(const Column *column, GroupColumn *of) {
        GroupExited *exited = of->exited;
        const LifeCounts *lives;
        Amount alive_ns, rss = { .known = false };
        int r = OBTAIN(of->work);

        if (r == 0 && !of->ends[SIDE_AFTER]) {
                r = OBTAIN(of->ends[SIDE_AFTER]);
                if (r == 0) /* that it has no thread is known */
                        of->ends[SIDE_AFTER]->present[METRIC_thread_count] = 1;
        }
        if (r != 0)
                return r;
        group_exited_judge(exited, &column->period);
        if (column->finds_excess)
                group_exited_find_excess(exited, &column->period, &column->ended,
                                         column->host.n_cpus);
        lives = &of->work->lives;
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                ExitedSum sum = group_exited_sum(exited, id);
                Amount peak = { .known = false };

                if (sum.known && metric_is_work(id))
                        aggregate_add_sum(of->ends[SIDE_AFTER], id, sum.value, sum.threads);
                /* Captures of a set keep the peaks of the living. */
                if (column->finds_excess)
                        peak = group_exited_peak(exited, id, &column->vanished_peaks,
                                                 column->by_process && lives->survived == 0 &&
                                                         lives->vanished == 0);
                if (!peak.known)
                        continue;
                aggregate_add_peak(of->ends[SIDE_AFTER], id, peak.n);
                if (column->setup.keeps_begin) {
                        r = note_record(of->work, SIDE_AFTER, id, peak.n);
                        if (r != 0)
                                return r;
                }
                if (id == METRIC_hiwater_rss_bytes)
                        rss = peak;
        }
        /* Time alive counts where the time in which they ran does. */
        if (group_exited_left_out(exited, METRIC_run_time_ns) == 0) {
                alive_ns = group_exited_alive_ns(exited, column->period.tick_ns);
                life_tally_merge(&of->tally, &(LifeTally){ .alive_ns = alive_ns.n,
                                                           .lacks_alive = !alive_ns.known,
                                                           .risen_rss_bytes = rss });
        }
        return 0;
}

int column_settle(const Column *column, GroupColumn *of, bool tells) {
        Aggregate **begin = &of->ends[SIDE_BEFORE];
        int r = 0;

        if (!tells)
                free(TAKE_PTR(of->exited));
        else if (of->exited && group_exited_exits(of->exited) > 0)
                r = settle_ended(column, of);
        if (r != 0)
                return r;
        if (of->work && tells) {
                of->work->lives.short_lived =
                        amount_of(of->exited ? group_exited_n_short_lived(of->exited) : 0);
                of->work->lives.exits = amount_of(of->exited ? group_exited_exits(of->exited) : 0);
        }
        if (!of->work || !column->setup.keeps_begin || (!*begin && !of->ends[SIDE_AFTER]))
                return 0;
        if (!of->ends[SIDE_AFTER]) { /* the group is gone: list it as it stood */
                aggregate_free(*begin);
                *begin = TAKE_PTR(of->work->vanished);
                return 0;
        }
        /* Threads that are there at one end only are known to be none at the other. */
        r = OBTAIN(*begin);
        if (r == 0 && (*begin)->present[METRIC_thread_count] == 0)
                (*begin)->present[METRIC_thread_count] = 1;
        return r;
}

/* asking */

Sum column_total(const GroupColumn *of, Side end, MetricId id) {
        Sum total = aggregate_read_sum(of->ends[SIDE_BEFORE], id), work;

        if (!of->ends[SIDE_AFTER])
                return total;
        work = aggregate_read_sum(of->ends[SIDE_AFTER], id);
        if (!metric_is_work(id))
                return end == SIDE_AFTER ? work : total;
        if (end == SIDE_AFTER)
                sum_add(&total, work);
        /* A thread takes part in a sum at both ends or at neither; who was born began at 0. */
        total.present = work.present;
        if (of->work->falls)
                sum_add(&total, of->work->falls->sums[end][id]);
        return total;
}

Sum column_sum(const GroupColumn *of, MetricId id) {
        Sum sum = aggregate_read_sum(of->ends[SIDE_AFTER], id);

        /* The work is not known where a total stopped at 2^64-1. */
        if (of->work && of->ends[SIDE_BEFORE] && metric_is_work(id) &&
            (column_total(of, SIDE_BEFORE, id).saturated ||
             column_total(of, SIDE_AFTER, id).saturated))
                return (Sum){ .present = 0 };
        return sum;
}

Sum column_level(const GroupColumn *of, MetricId id) {
        for (unsigned i = 0; of->work && i < _LIFE_TOTAL_MAX; i++)
                if (life_total_metrics[i] == id)
                        return of->work->totals[i];
        return aggregate_read_sum(of->ends[SIDE_AFTER], id);
}

MetricId column_fallen_input(const GroupColumn *of, const Derived *derived) {
        for (unsigned i = 0; i < derived->n_inputs; i++)
                if (column_fell(of, derived->inputs[i]))
                        return derived->inputs[i];
        return _METRIC_MAX;
}

bool column_holds(const GroupColumn *of, MetricId id) {
        const ColumnWork *work = of->work;

        if (of->ends[SIDE_AFTER]->present[id] > 0)
                return true;
        return work && (column_fell(of, id) || bits_has(work->inherited, id) ||
                        (work->gaps && work->gaps->only[SIDE_AFTER][id] > 0));
}

bool column_moved(const GroupColumn *of, MetricId id) {
        return of->work->records && bits_has(of->work->records->known[SIDE_AFTER], id);
}

Value column_record(const GroupColumn *of, Side end, MetricId id) {
        const ColumnRecords *records = of->work->records;

        if (!records || !bits_has(records->known[end], id))
                return (Value){ .kind = VALUE_ABSENT };
        return (Value){ .kind = VALUE_INTEGER,
                        .integer =
                                (Integer){ .magnitude = records->values[end][record_slots[id]] } };
}

const MemberList *column_starters(const GroupColumn *of) {
        if (!of->work || !of->work->lives.exits.known)
                return NULL;
        return of->tells_starters || of->work->lives.exits.n == 0 ? &of->starters : NULL;
}
