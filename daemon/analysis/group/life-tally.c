/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/life-tally.h"

#include "analysis/group/life.h"
#include "base/macro.h"
#include "base/number.h"

Period period_of(const JudgeTime *before, const JudgeTime *after) {
        Period period = { .is_interval = before };

        if (!after->known || (before && (!before->known || after->start_ns < before->start_ns)))
                return period;
        period.known = true;
        period.end_ns = after->start_ns;
        period.tick_ns = after->tick_ns;
        if (before) {
                period.begin_ns = before->start_ns;
                period.most_ns = judge_interval_ns((const JudgeTime[SIDES]){ *before, *after });
        }
        return period;
}

/* A start is rounded down to a tick. */
bool period_overlooked(const Period *period, const ThreadSample *after) {
        return period->known && period->is_interval &&
               number_multiply_saturating(number_add_saturating(after->start_ticks, 1),
                                          period->tick_ns) <= period->begin_ns;
}

Amount period_elapsed_ns(const Period *period) {
        return period->known ? amount_of(period->end_ns - period->begin_ns)
                             : (Amount){ .known = false };
}

static Amount earlier(Amount a, Amount b) {
        if (!a.known || !b.known)
                return a.known ? a : b;
        return a.n < b.n ? a : b;
}

/* Not counted where it is not in memory, as files are. */
static Amount rss_of(const ThreadSample *sample) {
        static const MetricId parts[] = { METRIC_rss_anon_bytes, METRIC_rss_shmem_bytes };
        Amount rss = { .known = false };

        for (size_t i = 0; sample && i < ELEMENTSOF(parts); i++)
                if (thread_sample_has(sample, parts[i]))
                        rss = amount_add_known(rss, amount_of(thread_sample_get(sample, parts[i])));
        return rss;
}

void life_tally_add(LifeTally *tally, const Period *period, const ThreadSample *before,
                    const ThreadSample *after) {
        static const MetricId heap[] = { METRIC_allocated_bytes, METRIC_deallocated_bytes };
        const MetricId peak = METRIC_hiwater_rss_bytes;
        bool has_heap = period->is_interval && ((before && thread_sample_has(before, heap[0])) ||
                                                (after && thread_sample_has(after, heap[0])));
        uint64_t done[ELEMENTSOF(heap)] = {};
        Amount ends[SIDES] = { rss_of(before), rss_of(after) };
        uint64_t start_ns, alive_ns = 0;
        bool rose = after && thread_sample_has(after, peak);

        /* A process of which one end is not known has no part in either. */
        if (!before || !after || ends[SIDE_BEFORE].known == ends[SIDE_AFTER].known) {
                if (period->is_interval)
                        tally->rss_bytes[SIDE_BEFORE] =
                                amount_add_known(tally->rss_bytes[SIDE_BEFORE], ends[SIDE_BEFORE]);
                tally->rss_bytes[SIDE_AFTER] =
                        amount_add_known(tally->rss_bytes[SIDE_AFTER], ends[SIDE_AFTER]);
        }
        for (size_t i = 0; has_heap && i < ELEMENTSOF(heap); i++) {
                bool known = after && thread_sample_has(after, heap[i]);

                if (known && before)
                        known = life_grown(before, after, heap[i], &done[i]);
                else if (known)
                        done[i] = thread_sample_get(after, heap[i]);
                has_heap = known && (before || !life_may_inherit(after, heap[i]));
                tally->lacks_heap = tally->lacks_heap || !has_heap;
        }
        if (has_heap) {
                tally->has_heap = true;
                tally->allocated_bytes = number_add_saturating(tally->allocated_bytes, done[0]);
                tally->freed_bytes = number_add_saturating(tally->freed_bytes, done[1]);
        }
        /*
         * The peak of a life, where it is known to have been reached inside. It is that of the
         * memory of the whole process, so of a thread that was born it is news only if its process
         * was born with it.
         */
        if (rose && period->is_interval)
                rose = before ? thread_sample_has(before, peak) &&
                                        thread_sample_get(before, peak) <
                                                thread_sample_get(after, peak)
                              : after->tid == after->tgid;
        if (rose)
                tally->risen_rss_bytes =
                        amount_of(MAX_OF(tally->risen_rss_bytes.n, thread_sample_get(after, peak)));
        if (!period->known || !after)
                return;
        start_ns = number_multiply_saturating(after->start_ticks, period->tick_ns);
        if (!period->is_interval)
                tally->first_start_ns = earlier(tally->first_start_ns, amount_of(start_ns));
        if (before || start_ns < period->begin_ns)
                alive_ns = period->end_ns - period->begin_ns;
        else if (start_ns < period->end_ns)
                alive_ns = period->end_ns - start_ns;
        tally->alive_ns = number_add_saturating(tally->alive_ns, alive_ns);
}

void life_tally_merge(LifeTally *tally, const LifeTally *from) {
        tally->lacks_alive = tally->lacks_alive || from->lacks_alive;
        tally->first_start_ns = earlier(tally->first_start_ns, from->first_start_ns);
        tally->alive_ns = number_add_saturating(tally->alive_ns, from->alive_ns);
        tally->risen_rss_bytes.known = tally->risen_rss_bytes.known || from->risen_rss_bytes.known;
        tally->risen_rss_bytes.n = MAX_OF(tally->risen_rss_bytes.n, from->risen_rss_bytes.n);
        for (unsigned side = 0; side < SIDES; side++)
                tally->rss_bytes[side] =
                        amount_add_known(tally->rss_bytes[side], from->rss_bytes[side]);
        tally->has_heap = tally->has_heap || from->has_heap;
        tally->lacks_heap = tally->lacks_heap || from->lacks_heap;
        tally->allocated_bytes =
                number_add_saturating(tally->allocated_bytes, from->allocated_bytes);
        tally->freed_bytes = number_add_saturating(tally->freed_bytes, from->freed_bytes);
}

/* A process that was not there had no memory. */
Amount life_tally_rss_growth(const LifeTally *tally) {
        const Amount *rss = tally->rss_bytes;

        if (!rss[SIDE_BEFORE].known && !rss[SIDE_AFTER].known)
                return (Amount){ .known = false };
        return amount_of(rss[SIDE_AFTER].n > rss[SIDE_BEFORE].n
                                 ? rss[SIDE_AFTER].n - rss[SIDE_BEFORE].n
                                 : 0);
}

Amount life_tally_heap_growth(const LifeTally *tally) {
        if (!tally->has_heap || tally->lacks_heap)
                return (Amount){ .known = false };
        return amount_of(tally->allocated_bytes > tally->freed_bytes
                                 ? tally->allocated_bytes - tally->freed_bytes
                                 : 0);
}
