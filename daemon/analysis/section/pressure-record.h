/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * PressureRecord
 *
 * Pressure stall information as a snapshot has it, of the host or of a cgroup. Averages are
 * hundredths of a percent and may pass 100 %; totals are microseconds.
 */

#include "json/json-scanner.h"
#include "analysis/section/count-map.h"
#include "analysis/section/reading.h"

// clang-format off
#define PRESSURE_RESOURCES(R) R(CPU, "cpu") R(MEMORY, "memory") R(IO, "io") R(IRQ, "irq")
#define PRESSURE_HALVES(H) H(SOME, "some") H(FULL, "full")
/*        id      member        of records that land on one key */
#define PRESSURE_VALUES(V)                                         \
        V(AVG10,  "avg10",      READING_MERGE_PEAK)                \
        V(AVG60,  "avg60",      READING_MERGE_PEAK)                \
        V(AVG300, "avg300",     READING_MERGE_PEAK)                \
        V(TOTAL,  "total_usec", READING_MERGE_SUM)
// clang-format on

#define PRESSURE_RESOURCE_ID(id, ...) PRESSURE_RESOURCE_##id,
#define PRESSURE_HALF_ID(id, ...) PRESSURE_HALF_##id,
#define PRESSURE_VALUE_ID(id, ...) PRESSURE_VALUE_##id,
enum { PRESSURE_RESOURCES(PRESSURE_RESOURCE_ID) _PRESSURE_RESOURCE_MAX };
enum { PRESSURE_HALVES(PRESSURE_HALF_ID) _PRESSURE_HALF_MAX };
enum { PRESSURE_VALUES(PRESSURE_VALUE_ID) _PRESSURE_VALUE_MAX };

/* Zeroed: all absent. */
typedef struct PressureRecord {
        Reading values[_PRESSURE_RESOURCE_MAX][_PRESSURE_HALF_MAX][_PRESSURE_VALUE_MAX];
} PressureRecord;

/* Fills in what the next value has, an object or null. JSON_E_MALFORMED. */
_must_check_ int pressure_record_scan(PressureRecord *record, JsonScanner *scanner);
/* The same of a whole text. */
_must_check_ int pressure_record_scan_text(PressureRecord *record, Span json,
                                           char ret_complaint[static MEMBER_COMPLAINT_BYTES]);
void pressure_record_merge(PressureRecord *record, const PressureRecord *from);

/* Some value of @resource is not 0. */
bool pressure_record_has(const PressureRecord *record, unsigned resource);

/*
 * The values of one half; @records[side] may be NULL for a side that has none. False when no side
 * has a value of it.
 */
bool pressure_half_sides(const PressureRecord *const records[static 2], unsigned n_sides,
                         unsigned resource, unsigned half,
                         Reading ret_sides[static _PRESSURE_VALUE_MAX][2]);
/* The members of their row; the caller has the object around. @cgroup: NULL bytes for the host. */
void pressure_members_write(JsonWriter *writer, Span cgroup, unsigned n_sides, unsigned resource,
                            unsigned half, const Reading sides[static _PRESSURE_VALUE_MAX][2]);
