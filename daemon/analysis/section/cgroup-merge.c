/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/cgroup-merge.h"

static ReadingMerge stat_rule(Span key) {
        return memory_stat_is_gauge(key) ? READING_MERGE_PEAK : READING_MERGE_SUM;
}

static ReadingMerge event_rule(Span key) {
        return READING_MERGE_SUM;
}

int cgroup_record_merge(CgroupRecord *record, const CgroupRecord *from) {
        int r;

        for (CgroupField id = 0; id < _CGROUP_FIELD_MAX; id++)
                record->fields[id] = reading_merge(cgroup_field_table[id].merge, record->fields[id],
                                                   from->fields[id]);
        pressure_record_merge(&record->pressure, &from->pressure);
        r = count_map_merge(&record->stat, &from->stat, stat_rule);
        return r == 0 ? count_map_merge(&record->events, &from->events, event_rule) : r;
}
