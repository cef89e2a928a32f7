/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionRow
 *
 * One row of a section of a reply, taken apart: the cgroup or process it belongs to, and a list of
 * its values with their names. Everything is borrowed from the row.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "view/section-list.h"
#include "view/view.h"
#include "render/quantity.h"

typedef enum SectionUnit {
        SECTION_UNIT_NONE,
        SECTION_UNIT_COUNT,
        SECTION_UNIT_BYTES,
        SECTION_UNIT_US,
        SECTION_UNIT_NS,
        SECTION_UNIT_CPUS,    /* with a fraction */
        SECTION_UNIT_PERCENT, /* in hundredths */
        SECTION_UNIT_HUNDREDTHS,
        _SECTION_UNIT_MAX,
} SectionUnit;

typedef struct SectionUnitRow {
        const char *wire; /* in replies, where a row says its unit; NULL: no row does */
        const char *name; /* in rows for programs */
        QuantityLadder ladder;
} SectionUnitRow;

extern const SectionUnitRow section_units[_SECTION_UNIT_MAX];

typedef struct SectionValue {
        Span name; /* "memory.max", "anon" */
        SectionUnit unit;
        json_object *value; /* a VALUE of the interface; for a pair {before, after, delta} */
        json_object *rate;  /* of a pair, per second; NULL: none */
} SectionValue;

#define SECTION_LIMITS_ID(id, ...) SECTION_LIMITS_##id,
#define SECTION_PRESSURE_ID(id, ...) SECTION_PRESSURE_##id,
enum { SECTION_LIMITS(SECTION_LIMITS_ID) _SECTION_LIMITS_MAX };
enum { SECTION_PRESSURES(SECTION_PRESSURE_ID) _SECTION_PRESSURE_MAX };

typedef struct SectionRow {
        json_object *json;
        json_object *item;                        /* the member that the form names */
        json_object *resource, *half;             /* for pressure: "cpu", "some" */
        json_object *reason;                      /* why a value is null; may be NULL */
        SectionValue values[_SECTION_LIMITS_MAX]; /* as many as the longest list */
        size_t n_values;
} SectionRow;

/* Rows about a part of the host (SECTION_ABOUT_HOST_PART) are about all of it if item is NULL. */
SectionRow section_row_read(SectionId id, json_object *row);
/* Returns the section with this name in replies; _SECTION_MAX if only a newer daemon knows it. */
SectionId section_find(const char *name);

/*
 * Returns whether the view wants to see the value of a pair: it changed or, with a threshold, moved
 * by more. A limit that was set or removed moved by more than any threshold; a value that one side
 * did not measure did not move.
 */
bool section_value_moved(const SectionValue *value, const View *view);
/*
 * Sets *ret to the percent of a change, the same in every format and for the threshold, whatever
 * the unit: of a pressure, the percent of a percentage. False unless both sides are numbers and the
 * one before is not 0.
 */
bool section_value_percent(json_object *value, double *ret);
