/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-row.h"

#include <math.h>
#include <string.h>

#include "render/cell.h"

const SectionUnitRow section_units[_SECTION_UNIT_MAX] = {
        [SECTION_UNIT_NONE] = { NULL, "none", QUANTITY_LADDER_NONE },
        [SECTION_UNIT_COUNT] = { "count", "count", QUANTITY_LADDER_COUNT },
        [SECTION_UNIT_BYTES] = { "bytes", "bytes", QUANTITY_LADDER_BYTES },
        [SECTION_UNIT_US] = { NULL, "us", QUANTITY_LADDER_US },
        [SECTION_UNIT_NS] = { "ns", "ns", QUANTITY_LADDER_NS },
        [SECTION_UNIT_CPUS] = { NULL, "cpus", QUANTITY_LADDER_RATIO },
        [SECTION_UNIT_PERCENT] = { NULL, "percent", QUANTITY_LADDER_NONE },
        [SECTION_UNIT_HUNDREDTHS] = { "hundredths", "none", QUANTITY_LADDER_NONE },
};

SectionId section_find(const char *name) {
        unsigned id = 0;

        while (id < _SECTION_MAX && strcmp(view_table_names[(SectionId) id], name) != 0)
                id++;
        return (SectionId) id;
}

static const SectionPlace stats_places[_SECTION_STATS_MAX] = {
        [SECTION_STATS_USAGE] = { "cpu", "usage_usec", "cpu_usage_usec", SECTION_UNIT_US },
        [SECTION_STATS_NR_THROTTLED] = { "cpu", "nr_throttled", "nr_throttled",
                                         SECTION_UNIT_COUNT },
        [SECTION_STATS_THROTTLED] = { "cpu", "throttled_usec", "throttled_usec", SECTION_UNIT_US },
        [SECTION_STATS_MEMORY] = { "memory", "current", "memory_current", SECTION_UNIT_BYTES },
};

static const SectionPlace limits_places[_SECTION_LIMITS_MAX] = {
        [SECTION_LIMITS_QUOTA] = { "cpu", "max_quota_us", "cpu.max.quota", SECTION_UNIT_US },
        [SECTION_LIMITS_PERIOD] = { "cpu", "max_period_us", "cpu.max.period", SECTION_UNIT_US },
        [SECTION_LIMITS_CPUS] = { "cpu", "cpus", "cpu.max.cpus", SECTION_UNIT_CPUS },
        [SECTION_LIMITS_WEIGHT] = { "cpu", "weight", "cpu.weight", SECTION_UNIT_NONE },
        [SECTION_LIMITS_NICE] = { "cpu", "weight_nice", "cpu.weight.nice", SECTION_UNIT_NONE },
        [SECTION_LIMITS_MEMORY_MAX] = { "memory", "max", "memory.max", SECTION_UNIT_BYTES },
        [SECTION_LIMITS_MEMORY_HIGH] = { "memory", "high", "memory.high", SECTION_UNIT_BYTES },
        [SECTION_LIMITS_MEMORY_LOW] = { "memory", "low", "memory.low", SECTION_UNIT_BYTES },
        [SECTION_LIMITS_MEMORY_MIN] = { "memory", "min", "memory.min", SECTION_UNIT_BYTES },
        [SECTION_LIMITS_PIDS] = { "pids", "current", "pids.current", SECTION_UNIT_COUNT },
        [SECTION_LIMITS_PIDS_MAX] = { "pids", "max", "pids.max", SECTION_UNIT_COUNT },
};

static const SectionPlace pressure_places[_SECTION_PRESSURE_MAX] = {
        [SECTION_PRESSURE_AVG10] = { NULL, "avg10", "avg10", SECTION_UNIT_PERCENT },
        [SECTION_PRESSURE_AVG60] = { NULL, "avg60", "avg60", SECTION_UNIT_PERCENT },
        [SECTION_PRESSURE_AVG300] = { NULL, "avg300", "avg300", SECTION_UNIT_PERCENT },
        [SECTION_PRESSURE_TOTAL] = { NULL, "total_usec", "total", SECTION_UNIT_US },
};

#define CGROUP "cgroup", "cgroup", "cgroups"
#define PLACES(places) NULL, places, ELEMENTSOF(places)
#define ONE_VALUE(member) member, NULL, 0

const SectionKind section_kinds[_SECTION_MAX] = {
        [SECTION_SMAPS_ROLLUP] = { "process", "process", "processes", "key", "smaps_rollup",
                                   ONE_VALUE("value") },
        [SECTION_CGROUP_STATS] = { CGROUP, "counter", "cgroup-stats", PLACES(stats_places) },
        [SECTION_CGROUP_LIMITS] = { CGROUP, "limit", "cgroup-stats", PLACES(limits_places) },
        [SECTION_MEMORY_STAT] = { CGROUP, "key", "cgroup-stats", ONE_VALUE("value") },
        [SECTION_MEMORY_EVENTS] = { CGROUP, "event", "cgroup-stats", ONE_VALUE("count") },
        [SECTION_PRESSURE] = { CGROUP, NULL, "cgroup-pressure", PLACES(pressure_places) },
        [SECTION_HOST_PRESSURE] = { NULL, "row", "rows", NULL, "host-pressure",
                                    PLACES(pressure_places) },
        [SECTION_HOST_CPU] = { "cpu", "CPU", "CPUs", "key", "host-cpu", ONE_VALUE("value") },
        [SECTION_HOST_MEMORY] = { NULL, "row", "rows", "key", "host-memory", ONE_VALUE("value") },
        [SECTION_HOST_DISK] = { "disk", "disk", "disks", "key", "host-disk", ONE_VALUE("value") },
        [SECTION_HOST_NETWORK] = { "interface", "interface", "interfaces", "key", "host-network",
                                   ONE_VALUE("value") },
        [SECTION_SCHED_EXT] = { NULL, "row", "rows", "attr", "sched-ext", ONE_VALUE("value") },
};

SectionRow section_row_read(SectionId id, json_object *row) {
        const SectionKind *kind = &section_kinds[id];
        SectionRow read = {
                .json = row,
                .item = kind->item ? cell_member(row, kind->item) : NULL,
                .resource = cell_member(row, "resource"),
                .half = cell_member(row, "row"),
                .reason = cell_member(row, "reason"),
        };

        for (size_t i = 0; i < kind->n_places; i++) {
                const SectionPlace *place = &kind->places[i];
                json_object *object = place->object ? cell_member(row, place->object) : row;

                read.values[read.n_values++] =
                        (SectionValue){ .name = span_of(place->name),
                                        .unit = place->unit,
                                        .value = cell_member(object, place->member) };
        }
        if (kind->value) {
                Span unit = cell_string(cell_member(row, "unit"));
                SectionValue *value = &read.values[read.n_values++];

                *value = (SectionValue){
                        .name = cell_string(cell_member(row, kind->key)),
                        .value = cell_member(row, kind->value),
                        .rate = cell_member(row, "perSecond"),
                };
                for (unsigned i = 0; i < _SECTION_UNIT_MAX; i++)
                        if (section_units[i].wire && span_is(unit, section_units[i].wire))
                                value->unit = (SectionUnit) i;
        }
        return read;
}

bool section_value_percent(json_object *value, double *ret) {
        json_object *before = cell_member(value, "before"), *delta = cell_member(value, "delta");
        Quantity from, by;

        if (!cell_quantity(before, &from) || quantity_is_zero(from) || !cell_quantity(delta, &by))
                return false;
        *ret = 100 * json_object_get_double(delta) / fabs(json_object_get_double(before));
        return true;
}

bool section_value_moved(const SectionValue *value, const View *view) {
        json_object *before = cell_member(value->value, "before");
        json_object *after = cell_member(value->value, "after");
        double percent;

        if (json_object_equal(before, after))
                return false;
        if (!view->has_threshold)
                return true;
        if (section_value_percent(value->value, &percent))
                return fabs(percent) > view->threshold;
        /* A value that was not measured did not move, and words never do. */
        if (!before || !after ||
            (json_object_is_type(before, json_type_string) &&
             json_object_is_type(after, json_type_string)))
                return false;
        return true; /* growth from zero, or a limit that was set or lifted */
}
