/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/section/section-row.h"

#include <math.h>
#include <string.h>

#include "render/cell.h"

static const char *const unit_names[] = {
        [SECTION_UNIT_NONE] = "none",   [SECTION_UNIT_COUNT] = "count",
        [SECTION_UNIT_BYTES] = "bytes", [SECTION_UNIT_US] = "us",
        [SECTION_UNIT_CPUS] = "cpus",   [SECTION_UNIT_PERCENT] = "percent",
        [SECTION_UNIT_NS] = "ns",       [SECTION_UNIT_HUNDREDTHS] = "none",
};

const char *section_unit_name(SectionUnit unit) {
        return unit_names[unit];
}

SectionId section_find(const char *name) {
        unsigned id = 0;

        while (id < _SECTION_MAX && strcmp(view_table_name((SectionId) id), name) != 0)
                id++;
        return (SectionId) id;
}

const char *section_item(SectionId id) {
        switch (id) {
        case SECTION_SMAPS_ROLLUP:
                return "process";
        case SECTION_CGROUP_STATS:
        case SECTION_CGROUP_LIMITS:
        case SECTION_MEMORY_STAT:
        case SECTION_MEMORY_EVENTS:
        case SECTION_PRESSURE:
                return "cgroup";
        case SECTION_HOST_CPU:
                return "cpu";
        case SECTION_HOST_DISK:
                return "disk";
        case SECTION_HOST_NETWORK:
                return "interface";
        case SECTION_HOST_MEMORY:
        case SECTION_HOST_PRESSURE:
        case SECTION_SCHED_EXT:
        case _SECTION_MAX:
                break;
        }
        return NULL;
}

const char *section_item_noun(SectionId id, uint64_t n) {
        static const struct {
                const char *item, *one, *many;
        } rows[] = {
                { "cgroup", "cgroup", "cgroups" },
                { "process", "process", "processes" },
                { "cpu", "CPU", "CPUs" },
                { "disk", "disk", "disks" },
                { "interface", "interface", "interfaces" },
        };
        const char *item = section_item(id);

        for (size_t i = 0; item && i < ELEMENTSOF(rows); i++)
                if (strcmp(rows[i].item, item) == 0)
                        return n == 1 ? rows[i].one : rows[i].many;
        return n == 1 ? "row" : "rows";
}

bool section_is_host_part(SectionId id) {
        return id < _SECTION_MAX && view_table_about(id) == SECTION_ABOUT_HOST_PART;
}

/* Where a value is in a row, and its name. */
typedef struct Place {
        const char *object; /* NULL: in the row itself */
        const char *member;
        const char *name;
        SectionUnit unit;
} Place;

static const Place stats_places[_SECTION_STATS_MAX] = {
        [SECTION_STATS_USAGE] = { "cpu", "usage_usec", "cpu_usage_usec", SECTION_UNIT_US },
        [SECTION_STATS_NR_THROTTLED] = { "cpu", "nr_throttled", "nr_throttled",
                                         SECTION_UNIT_COUNT },
        [SECTION_STATS_THROTTLED] = { "cpu", "throttled_usec", "throttled_usec", SECTION_UNIT_US },
        [SECTION_STATS_MEMORY] = { "memory", "current", "memory_current", SECTION_UNIT_BYTES },
};

static const Place limits_places[_SECTION_LIMITS_MAX] = {
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

static const Place pressure_places[_SECTION_PRESSURE_MAX] = {
        [SECTION_PRESSURE_AVG10] = { NULL, "avg10", "avg10", SECTION_UNIT_PERCENT },
        [SECTION_PRESSURE_AVG60] = { NULL, "avg60", "avg60", SECTION_UNIT_PERCENT },
        [SECTION_PRESSURE_AVG300] = { NULL, "avg300", "avg300", SECTION_UNIT_PERCENT },
        [SECTION_PRESSURE_TOTAL] = { NULL, "total_usec", "total", SECTION_UNIT_US },
};

static void read_places(SectionRow *ret, json_object *row, const Place *places, size_t n) {
        for (size_t i = 0; i < n; i++) {
                json_object *object = places[i].object ? cell_member(row, places[i].object) : row;

                ret->values[i] = (SectionValue){ .name = span_of(places[i].name),
                                                 .unit = places[i].unit,
                                                 .value = cell_member(object, places[i].member) };
        }
        ret->n_values = n;
}

static SectionUnit unit_of(Span name) {
        static const struct {
                const char *name;
                SectionUnit unit;
        } rows[] = {
                { "bytes", SECTION_UNIT_BYTES },
                { "count", SECTION_UNIT_COUNT },
                { "ns", SECTION_UNIT_NS },
                { "hundredths", SECTION_UNIT_HUNDREDTHS },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (span_is(name, rows[i].name))
                        return rows[i].unit;
        return SECTION_UNIT_NONE;
}

/* A row with one value, whose name is a member of the row. */
static void read_one(SectionRow *ret, json_object *row, const char *key, const char *value) {
        ret->values[0] = (SectionValue){
                .name = cell_string(cell_member(row, key)),
                .unit = unit_of(cell_string(cell_member(row, "unit"))),
                .value = cell_member(row, value),
                .rate = cell_member(row, "perSecond"),
        };
        ret->n_values = 1;
}

SectionRow section_row_read(SectionId id, json_object *row) {
        SectionRow read = {
                .json = row,
                .item = section_item(id) ? cell_member(row, section_item(id)) : NULL,
                .resource = cell_member(row, "resource"),
                .half = cell_member(row, "row"),
                .reason = cell_member(row, "reason"),
        };

        switch (id) {
        case SECTION_SMAPS_ROLLUP:
        case SECTION_MEMORY_STAT:
        case SECTION_HOST_CPU:
        case SECTION_HOST_MEMORY:
        case SECTION_HOST_DISK:
        case SECTION_HOST_NETWORK:
                read_one(&read, row, "key", "value");
                break;
        case SECTION_MEMORY_EVENTS:
                read_one(&read, row, "event", "count");
                break;
        case SECTION_SCHED_EXT:
                read_one(&read, row, "attr", "value");
                break;
        case SECTION_CGROUP_STATS:
                read_places(&read, row, stats_places, ELEMENTSOF(stats_places));
                break;
        case SECTION_CGROUP_LIMITS:
                read_places(&read, row, limits_places, ELEMENTSOF(limits_places));
                break;
        case SECTION_PRESSURE:
        case SECTION_HOST_PRESSURE:
                read_places(&read, row, pressure_places, ELEMENTSOF(pressure_places));
                break;
        case _SECTION_MAX:
                break;
        }
        return read;
}

static double number_of(json_object *value) {
        return json_object_get_double(value);
}

bool section_value_percent(json_object *value, double *ret) {
        json_object *before = cell_member(value, "before"), *delta = cell_member(value, "delta");
        Quantity from, by;

        if (!cell_quantity(before, &from) || quantity_is_zero(from) || !cell_quantity(delta, &by))
                return false;
        *ret = 100 * number_of(delta) / fabs(number_of(before));
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
