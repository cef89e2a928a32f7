/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/group-dead.h"

#include <stdlib.h>

#include "base/bits.h"
#include "base/number.h"
#include "analysis/group/life.h"

GroupDead *group_dead_free(GroupDead *dead) {
        free(dead);
        return NULL;
}

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

void group_dead_add_row(GroupDead *dead, Side side, const DeadRow *row) {
        uint64_t sign = side == SIDE_AFTER ? 1 : UINT64_MAX; /* -1 */
        uint64_t exits;

        if (side == SIDE_BEFORE && row->exits > 0)
                dead->had_row = true;
        dead->exits += sign * row->exits;
        dead->lives_ns += sign * row->lives_ns;
        dead->accounted += sign * row->accounted;
        dead->young += sign * row->young;
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                MetricId id = (MetricId) i;
                uint64_t value;

                if (!thread_sample_has(&row->sample, id))
                        continue;
                value = thread_sample_get(&row->sample, id);
                if (metric_is_work(id)) {
                        dead->values[i] += sign * value;
                        exits = is_delay(id) ? row->accounted : row->exits;
                        dead->threads[i] += (uint32_t) (sign * exits);
                        if (value == UINT64_MAX)
                                bits_set(dead->unknown, i);
                } else if (is_peak(id) && side == SIDE_AFTER) {
                        dead->values[i] = metric_further(id, dead->values[i], value);
                        dead->threads[i] += row->exits > 0;
                }
        }
}

void group_dead_add_gone(GroupDead *dead, const Period *period, const ThreadSample *gone) {
        uint64_t start_ns = number_multiply_saturating(gone->start_ticks, period->tick_ns);

        dead->n_gone++;
        if (period->known && start_ns <= period->begin_ns) {
                dead->gone_ages_ns += period->begin_ns - start_ns;
                judge_add_early(dead->early_ns, gone, period->begin_ns - start_ns);
        } else {
                dead->lacks_age = true;
        }
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                uint64_t value;

                if (!metric_is_work((MetricId) i))
                        continue;
                if (life_value_of_gone(gone, (MetricId) i, &value))
                        dead->values[i] -= value;
                else
                        bits_set(dead->unknown, i);
        }
}

void group_dead_adopt(GroupDead **to, GroupDead **from_other) {
        GroupDead *dead = *to, *from = *from_other;

        if (!from)
                return;
        *from_other = NULL;
        if (!dead) {
                *to = from;
                return;
        }
        dead->exits += from->exits;
        dead->lives_ns += from->lives_ns;
        dead->accounted += from->accounted;
        dead->young += from->young;
        dead->had_row = dead->had_row || from->had_row;
        dead->n_gone += from->n_gone;
        dead->gone_ages_ns += from->gone_ages_ns;
        dead->lacks_age = dead->lacks_age || from->lacks_age;
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                dead->values[i] =
                        is_peak((MetricId) i)
                                ? metric_further((MetricId) i, dead->values[i], from->values[i])
                                : dead->values[i] + from->values[i];
                dead->threads[i] += from->threads[i];
        }
        for (unsigned i = 0; i < JUDGE_N_TOTALS; i++)
                dead->early_ns[i] = number_add_saturating(dead->early_ns[i], from->early_ns[i]);
        for (unsigned word = 0; word < GROUP_DEAD_WORDS; word++)
                dead->unknown[word] |= from->unknown[word];
        group_dead_free(from);
}

void group_dead_judge(GroupDead *dead, const Period *period) {
        Amount alive_ns = group_dead_alive_ns(dead, period->tick_ns);

        if (period->most_ns == 0 || dead->lacks_age || group_dead_exits(dead) == 0)
                return;
        for (unsigned i = 0; i < JUDGE_N_TOTALS; i++) {
                DeadSum sum = group_dead_sum(dead, judge_total(i));
                uint64_t most_ns = judge_most_ns(sum.threads, period->most_ns, period->tick_ns);

                most_ns = number_add_saturating(most_ns, dead->early_ns[i]);
                if (sum.known && judge_ns(judge_total(i), sum.value, period->tick_ns) > most_ns)
                        bits_set(dead->refuted, judge_total(i));
        }
        dead->outlived = alive_ns.n >
                         judge_most_ns(group_dead_exits(dead), period->most_ns, period->tick_ns);
}

/* A trifle is let pass: threads change their names all the time that have hardly done anything. */
#define TRIFLE_PART 100

void group_dead_find_excess(GroupDead *dead, const Period *period, const GroupDead *all,
                            Amount n_cpus) {
        uint64_t cpus_ns = number_multiply_saturating(n_cpus.n, period->most_ns);

        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                DeadSum sum = group_dead_sum(dead, (MetricId) i), most;

                if (!metric_is_work((MetricId) i) || !sum.known)
                        continue;
                /* The most that can have been done by all threads together that ended. */
                most = group_dead_sum(all, (MetricId) i);
                if (i == METRIC_run_time_ns && n_cpus.known && period->most_ns > 0)
                        most = (DeadSum){ .known = true,
                                          .value = most.known ? MIN_OF(most.value, cpus_ns)
                                                              : cpus_ns };
                if (most.known &&
                    sum.value > number_add_saturating(most.value, most.value / TRIFLE_PART))
                        dead->excess[i] = sum.value - most.value;
        }
}

void gone_peaks_add(GonePeaks *peaks, const ThreadSample *gone) {
        for (unsigned i = 0; i < _METRIC_MAX; i++) {
                uint64_t value;

                if (!is_peak((MetricId) i))
                        continue;
                if (life_value_of_gone(gone, (MetricId) i, &value))
                        peaks->values[i] = metric_further((MetricId) i, peaks->values[i], value);
                else
                        bits_set(peaks->unknown, i);
        }
}

/* asking */

/* Rows that were put together with others in between make the difference negative. */
uint64_t group_dead_exits(const GroupDead *dead) {
        return (int64_t) dead->exits > 0 ? dead->exits : 0;
}

uint64_t group_dead_n_fleeting(const GroupDead *dead) {
        uint64_t n = group_dead_exits(dead);

        return n > dead->n_gone ? n - dead->n_gone : 0;
}

bool group_dead_moved(const GroupDead *dead) {
        if ((int64_t) dead->exits < 0 || dead->n_gone > group_dead_exits(dead) || dead->outlived)
                return true;
        for (unsigned word = 0; word < GROUP_DEAD_WORDS; word++)
                if (dead->refuted[word] != 0)
                        return true;
        for (unsigned i = 0; i < _METRIC_MAX; i++)
                if (dead->excess[i] > 0 ||
                    (metric_is_work((MetricId) i) && dead->threads[i] > 0 &&
                     !bits_has(dead->unknown, i) && (int64_t) dead->values[i] < 0))
                        return true;
        return false;
}

/* A sum has more threads than ended where the earlier ledger lacks it for some row. */
DeadSum group_dead_sum(const GroupDead *dead, MetricId id) {
        DeadSum sum = { .value = dead->values[id], .threads = dead->threads[id] };

        sum.known = group_dead_exits(dead) > 0 && (int32_t) sum.threads > 0 &&
                    sum.threads <= (is_delay(id) ? dead->accounted : dead->exits) &&
                    !bits_has(dead->unknown, id) && !bits_has(dead->refuted, id) &&
                    (int64_t) sum.value >= 0;
        return sum.known ? sum : (DeadSum){ .known = false };
}

uint64_t group_dead_left_out(const GroupDead *dead, MetricId id) {
        uint64_t n_threads = dead->threads[id];

        if (group_dead_exits(dead) == 0 || (int32_t) dead->threads[id] <= 0 ||
            group_dead_sum(dead, id).known)
                return 0;
        return MIN_OF(n_threads, group_dead_exits(dead));
}

Amount group_dead_alive_ns(const GroupDead *dead, uint64_t tick_ns) {
        uint64_t ns = dead->lives_ns - dead->gone_ages_ns;

        if (dead->lacks_age || dead->outlived)
                return (Amount){ .known = false };
        if ((int64_t) ns >= 0)
                return amount_of(ns);
        /* A start is rounded down to a tick, so that an age can be that much too long. */
        if (-ns <= number_multiply_saturating(dead->n_gone, tick_ns))
                return amount_of(0);
        return (Amount){ .known = false };
}

Amount group_dead_peak(const GroupDead *dead, MetricId id, const GonePeaks *peaks,
                       bool new_process) {
        uint64_t value = dead->values[id];
        bool inside;

        if (!is_peak(id) || dead->threads[id] == 0 || dead->had_row || value == 0)
                return (Amount){ .known = false };
        if (metric_table[id].unit == METRIC_UNIT_BYTES)
                inside = new_process;
        else
                inside = dead->young == dead->exits ||
                         (!bits_has(peaks->unknown, id) && value != peaks->values[id] &&
                          metric_further(id, value, peaks->values[id]) == value);
        return inside ? amount_of(value) : (Amount){ .known = false };
}
