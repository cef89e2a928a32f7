/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/life.h"

#include "base/number.h"

uint64_t metric_further(MetricId id, uint64_t a, uint64_t b) {
        if (metric_table[id].kind == METRIC_KIND_PEAK)
                return MAX_OF(a, b);
        if (a == 0 || b == 0)
                return a + b;
        return MIN_OF(a, b);
}

bool life_left_delays_out(const ThreadSample *sample, MetricId id) {
        SourceId source = metric_table[id].explained_by;

        if ((source != SOURCE_TASKSTATS_DELAY && source != SOURCE_TASKSTATS_IRQ) ||
            !thread_sample_has(sample, METRIC_cpu_delay_count))
                return false;
        for (unsigned other = 0; other < _METRIC_MAX; other++)
                if (metric_table[other].explained_by == source &&
                    thread_sample_has(sample, (MetricId) other))
                        return false;
        return true;
}

bool life_value_of_vanished(const ThreadSample *vanished, MetricId id, uint64_t *ret) {
        bool known = thread_sample_has(vanished, id);

        *ret = known ? thread_sample_get(vanished, id) : 0;
        return known || life_left_delays_out(vanished, id);
}

bool life_grown(const ThreadSample *before, const ThreadSample *after, MetricId id, uint64_t *ret) {
        uint64_t from;

        if (!thread_sample_has(after, id) || !life_before(before, after, id, &from) ||
            from > thread_sample_get(after, id))
                return false;
        *ret = thread_sample_get(after, id) - from;
        return true;
}
