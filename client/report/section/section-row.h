/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionRow
 *
 * One row of a section as an answer has it, taken apart: whose it is, and its values one by one
 * under names that do not depend on where in the row they stood. All is borrowed from the row.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/span.h"
#include "view/section-list.h"
#include "view/view.h"
#include "render/quantity.h"

typedef enum SectionUnit {
        SECTION_UNIT_NONE,
        SECTION_UNIT_COUNT,
        SECTION_UNIT_BYTES,
        SECTION_UNIT_US,
        SECTION_UNIT_CPUS,    /* with a fraction */
        SECTION_UNIT_PERCENT, /* in hundredths */
        _SECTION_UNIT_MAX,
} SectionUnit;

/* "bytes": as rows for programs have it. */
const char *section_unit_name(SectionUnit unit);

typedef struct SectionValue {
        Span name; /* "memory.max", "anon" */
        SectionUnit unit;
        json_object *value; /* a VALUE of the interface: of two sides an object of three members */
} SectionValue;

enum {
        SECTION_STATS_USAGE,
        SECTION_STATS_NR_THROTTLED,
        SECTION_STATS_THROTTLED,
        SECTION_STATS_MEMORY,
        _SECTION_STATS_MAX,
};

enum {
        SECTION_LIMITS_QUOTA,
        SECTION_LIMITS_PERIOD,
        SECTION_LIMITS_CPUS,
        SECTION_LIMITS_WEIGHT,
        SECTION_LIMITS_NICE,
        SECTION_LIMITS_MEMORY_MAX,
        SECTION_LIMITS_MEMORY_HIGH,
        SECTION_LIMITS_MEMORY_LOW,
        SECTION_LIMITS_MEMORY_MIN,
        SECTION_LIMITS_PIDS,
        SECTION_LIMITS_PIDS_MAX,
        _SECTION_LIMITS_MAX,
};

enum {
        SECTION_PRESSURE_AVG10,
        SECTION_PRESSURE_AVG60,
        SECTION_PRESSURE_AVG300,
        SECTION_PRESSURE_TOTAL,
        _SECTION_PRESSURE_MAX,
};

typedef struct SectionRow {
        json_object *json;
        json_object *item;                        /* the one of section_item() */
        json_object *resource, *half;             /* of pressure: "cpu", "some" */
        json_object *reason;                      /* why a value is null; may be NULL */
        SectionValue values[_SECTION_LIMITS_MAX]; /* the largest of the lists above; else one */
        size_t n_values;
} SectionRow;

/* The member that tells what a row is of: "cgroup", "process", or NULL: the host. */
const char *section_item(SectionId id);
SectionRow section_row_read(SectionId id, json_object *row);
/* The section an answer calls @name; _SECTION_MAX for one that only a newer daemon has. */
SectionId section_find(const char *name);

/*
 * Of two sides, whether the view wants to see it: that it differs, or with a threshold that it
 * moved by more. A limit that was set or lifted moved by more than any number; what one side did
 * not measure did not move.
 */
bool section_value_moved(const SectionValue *value, const View *view);
/* False unless both sides are numbers and before is not 0. */
bool section_value_percent(json_object *value, double *ret);
