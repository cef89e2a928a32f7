/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group-exited.h"

#include <stdlib.h>

#include "base/bits.h"
#include "base/number.h"
#include "analysis/group/life.h"

static bool is_peak(MetricId id) {
        return metric_table[id].kind == METRIC_KIND_PEAK ||
               metric_table[id].kind == METRIC_KIND_FLOOR;
}

/* folding */

/* A thread without delay accounting adds to no delay. */
static bool is_delay(MetricId id) {
        SourceId source = metric_table[id].explained_by;

        return source == SOURCE_TASKSTATS_DELAY || source == SOURCE_TASKSTATS_IRQ;
}

void group_exited_add_row(GroupExited *exited, Side side, const ExitedRow *row) {
        uint64_t sign = side == SIDE_AFTER ? 1 : UINT64_MAX; /* -1 */
        uint64_t exits;

        if (side == SIDE_BEFORE && row->exits > 0)
                exited->had_row = true;
        exited->exits += sign * row->exits;
        exited->lives_ns += sign * row->lives_ns;
        exited->accounted += sign * row->accounted;
        exited->young += sign * row->young;
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                uint64_t value;

                if (!thread_sample_has(&row->sample, id))
                        continue;
                value = thread_sample_get(&row->sample, id);
                if (metric_is_work(id)) {
                        exited->values[i] += sign * value;
                        exits = is_delay(id) ? row->accounted : row->exits;
                        exited->threads[i] += (uint32_t) (sign * exits);
                        if (value == UINT64_MAX)
                                bits_set(exited->unknown, i);
                } else if (is_peak(id) && side == SIDE_AFTER) {
                        exited->values[i] = metric_further(id, exited->values[i], value);
                        exited->threads[i] += row->exits > 0;
                }
        }
}

void group_exited_add_vanished(GroupExited *exited, const Period *period,
                               const ThreadSample *vanished) {
        uint64_t start_ns = number_multiply_saturating(vanished->start_ticks, period->tick_ns);

        exited->n_vanished++;
        if (period->known && start_ns <= period->begin_ns) {
                exited->vanished_ages_ns += period->begin_ns - start_ns;
                judge_add_early(exited->early_ns, vanished, period->begin_ns - start_ns);
        } else {
                exited->lacks_age = true;
        }
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                uint64_t value;

                if (!metric_is_work((MetricId) i))
                        continue;
                if (life_value_of_vanished(vanished, (MetricId) i, &value))
                        exited->values[i] -= value;
                else
                        bits_set(exited->unknown, i);
        }
}

void group_exited_adopt(GroupExited **to, GroupExited **from_other) {
        GroupExited *exited = *to, *from = *from_other;

        if (!from)
                return;
        *from_other = NULL;
        if (!exited) {
                *to = from;
                return;
        }
        exited->exits += from->exits;
        exited->lives_ns += from->lives_ns;
        exited->accounted += from->accounted;
        exited->young += from->young;
        exited->had_row = exited->had_row || from->had_row;
        exited->n_vanished += from->n_vanished;
        exited->vanished_ages_ns += from->vanished_ages_ns;
        exited->lacks_age = exited->lacks_age || from->lacks_age;
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                exited->values[i] =
                        is_peak((MetricId) i)
                                ? metric_further((MetricId) i, exited->values[i], from->values[i])
                                : exited->values[i] + from->values[i];
                exited->threads[i] += from->threads[i];
        }
        for (unsigned i = 0; i < JUDGE_N_TOTALS; i++)
                exited->early_ns[i] = number_add_saturating(exited->early_ns[i], from->early_ns[i]);
        for (unsigned word = 0; word < GROUP_EXITED_WORDS; word++)
                exited->unknown[word] |= from->unknown[word];
        free(from);
}

void group_exited_judge(GroupExited *exited, const Period *period) {
        Amount alive_ns = group_exited_alive_ns(exited, period->tick_ns);

        if (period->most_ns == 0 || exited->lacks_age || group_exited_exits(exited) == 0)
                return;
        for (unsigned i = 0; i < JUDGE_N_TOTALS; i++) {
                ExitedSum sum = group_exited_sum(exited, judge_total(i));
                uint64_t most_ns = judge_most_ns(sum.threads, period->most_ns, period->tick_ns);

                most_ns = number_add_saturating(most_ns, exited->early_ns[i]);
                if (sum.known && judge_ns(judge_total(i), sum.value, period->tick_ns) > most_ns)
                        bits_set(exited->refuted, judge_total(i));
        }
        exited->outlived = alive_ns.n > judge_most_ns(group_exited_exits(exited), period->most_ns,
                                                      period->tick_ns);
}

/* A trifle is let pass: threads change their names all the time that have hardly done anything. */
#define TRIFLE_PART 100

void group_exited_find_excess(GroupExited *exited, const Period *period, const GroupExited *all,
                              Amount n_cpus) {
        uint64_t cpus_ns = number_multiply_saturating(n_cpus.n, period->most_ns);

        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                ExitedSum sum = group_exited_sum(exited, (MetricId) i), most;

                if (!metric_is_work((MetricId) i) || !sum.known)
                        continue;
                /* The most that can have been done by all threads together that ended. */
                most = group_exited_sum(all, (MetricId) i);
                if (i == METRIC_run_time_ns && n_cpus.known && period->most_ns > 0)
                        most = (ExitedSum){ .known = true,
                                            .value = most.known ? MIN_OF(most.value, cpus_ns)
                                                                : cpus_ns };
                if (most.known &&
                    sum.value > number_add_saturating(most.value, most.value / TRIFLE_PART))
                        exited->excess[i] = sum.value - most.value;
        }
}

void vanished_peaks_add(VanishedPeaks *peaks, const ThreadSample *vanished) {
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                uint64_t value;

                if (!is_peak((MetricId) i))
                        continue;
                if (life_value_of_vanished(vanished, (MetricId) i, &value))
                        peaks->values[i] = metric_further((MetricId) i, peaks->values[i], value);
                else
                        bits_set(peaks->unknown, i);
        }
}

/* asking */

/* Rows that were put together with others in between make the difference negative. */
uint64_t group_exited_exits(const GroupExited *exited) {
        return (int64_t) exited->exits > 0 ? exited->exits : 0;
}

uint64_t group_exited_n_short_lived(const GroupExited *exited) {
        uint64_t n = group_exited_exits(exited);

        return n > exited->n_vanished ? n - exited->n_vanished : 0;
}

bool group_exited_moved(const GroupExited *exited) {
        if ((int64_t) exited->exits < 0 || exited->n_vanished > group_exited_exits(exited) ||
            exited->outlived)
                return true;
        for (unsigned word = 0; word < GROUP_EXITED_WORDS; word++)
                if (exited->refuted[word] != 0)
                        return true;
        for (unsigned i = 0; i < _METRIC_MAX; i++)
                if (exited->excess[i] > 0 ||
                    (metric_is_work((MetricId) i) && exited->threads[i] > 0 &&
                     !bits_has(exited->unknown, i) && (int64_t) exited->values[i] < 0))
                        return true;
        return false;
}

/* A sum has more threads than ended where the earlier ledger lacks it for some row. */
ExitedSum group_exited_sum(const GroupExited *exited, MetricId id) {
        ExitedSum sum = { .value = exited->values[id], .threads = exited->threads[id] };

        sum.known = group_exited_exits(exited) > 0 && (int32_t) sum.threads > 0 &&
                    sum.threads <= (is_delay(id) ? exited->accounted : exited->exits) &&
                    !bits_has(exited->unknown, id) && !bits_has(exited->refuted, id) &&
                    (int64_t) sum.value >= 0;
        return sum.known ? sum : (ExitedSum){ .known = false };
}

uint64_t group_exited_left_out(const GroupExited *exited, MetricId id) {
        uint64_t n_threads = exited->threads[id];

        if (group_exited_exits(exited) == 0 || (int32_t) exited->threads[id] <= 0 ||
            group_exited_sum(exited, id).known)
                return 0;
        return MIN_OF(n_threads, group_exited_exits(exited));
}

Amount group_exited_alive_ns(const GroupExited *exited, uint64_t tick_ns) {
        uint64_t ns = exited->lives_ns - exited->vanished_ages_ns;

        if (exited->lacks_age || exited->outlived)
                return (Amount){ .known = false };
        if ((int64_t) ns >= 0)
                return amount_of(ns);
        /* A start is rounded down to a tick, so that an age can be that much too long. */
        if (-ns <= number_multiply_saturating(exited->n_vanished, tick_ns))
                return amount_of(0);
        return (Amount){ .known = false };
}

Amount group_exited_peak(const GroupExited *exited, MetricId id, const VanishedPeaks *peaks,
                         bool new_process) {
        uint64_t value = exited->values[id];
        bool inside;

        if (!is_peak(id) || exited->threads[id] == 0 || exited->had_row || value == 0)
                return (Amount){ .known = false };
        if (metric_table[id].unit == METRIC_UNIT_BYTES)
                inside = new_process;
        else
                inside = exited->young == exited->exits ||
                         (!bits_has(peaks->unknown, id) && value != peaks->values[id] &&
                          metric_further(id, value, peaks->values[id]) == value);
        return inside ? amount_of(value) : (Amount){ .known = false };
}
