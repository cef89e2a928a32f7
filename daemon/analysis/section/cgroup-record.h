/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordField
 *
 * A value that has a fixed place in the records of a snapshot and in the rows of a section. All of
 * them follow from the lists in view/section-list.h.
 */

#include "analysis/section/count-map.h"
#include "base/span.h"
#include "view/section-list.h"

typedef enum FieldUnit {
        FIELD_UNIT_NONE,
        FIELD_UNIT_COUNT,
        FIELD_UNIT_BYTES,
        FIELD_UNIT_US,
        FIELD_UNIT_PERCENT,
        FIELD_UNIT_CPUS, /* in thousandths; made of two others, and never read */
        _FIELD_UNIT_MAX,
} FieldUnit;

typedef struct RecordField {
        const char *object; /* NULL: none */
        const char *member;
        FieldUnit unit;
        ReadingKind kind;
        ReadingMerge merge; /* of records that land on one key */
} RecordField;

/*
 * PressureRecord
 *
 * Pressure stall information as a snapshot has it, of the host or of a cgroup. Averages are
 * hundredths of a percent and may pass 100 %; totals are microseconds.
 */

// clang-format off
#define PRESSURE_RESOURCES(R) R(CPU, "cpu") R(MEMORY, "memory") R(IO, "io") R(IRQ, "irq")
#define PRESSURE_HALVES(H) H(SOME, "some") H(FULL, "full")
// clang-format on

#define PRESSURE_RESOURCE_ID(id, ...) PRESSURE_RESOURCE_##id,
#define PRESSURE_HALF_ID(id, ...) PRESSURE_HALF_##id,
#define PRESSURE_VALUE_ID(id, ...) PRESSURE_VALUE_##id,
enum { PRESSURE_RESOURCES(PRESSURE_RESOURCE_ID) _PRESSURE_RESOURCE_MAX };
enum { PRESSURE_HALVES(PRESSURE_HALF_ID) _PRESSURE_HALF_MAX };
enum { SECTION_PRESSURES(PRESSURE_VALUE_ID) _PRESSURE_VALUE_MAX };

extern const char *const pressure_resource_names[_PRESSURE_RESOURCE_MAX];
extern const char *const pressure_half_names[_PRESSURE_HALF_MAX];
extern const RecordField pressure_fields[_PRESSURE_VALUE_MAX];

/* Zeroed: all absent. */
typedef struct PressureRecord {
        Reading values[_PRESSURE_RESOURCE_MAX][_PRESSURE_HALF_MAX][_PRESSURE_VALUE_MAX];
} PressureRecord;

/* The place that a scan is at; one that begins has the record alone. */
typedef struct PressureScan {
        PressureRecord *record;
        unsigned depth;
        size_t at[3]; /* resource, half, value */
} PressureScan;

/* Fills in one member of what a snapshot has; @userdata: a PressureScan. For member_scan_text(). */
_must_check_ int pressure_scan_member(void *userdata, JsonScanner *scanner, Span key);

/* Some value of @resource is not 0. */
bool pressure_record_has(const PressureRecord *record, unsigned resource);

/*
 * CgroupRecord
 *
 * The values of one cgroup of a snapshot, or of several that land on one key, as far as sections
 * show them. Format version 0 has null both for a limit that is not set and for one that could not
 * be read, so such a limit is not known here.
 */

#define CGROUP_FIELD_ID(id, ...) CGROUP_FIELD_##id,
typedef enum CgroupField {
        SECTION_STATS(CGROUP_FIELD_ID) SECTION_LIMITS(CGROUP_FIELD_ID) _CGROUP_FIELD_MAX
} CgroupField;

#define CGROUP_FIELD_FIRST_LIMIT CGROUP_FIELD_QUOTA
#define CGROUP_FIELD_N_LIMITS (_CGROUP_FIELD_MAX - CGROUP_FIELD_FIRST_LIMIT)

extern const RecordField cgroup_fields[_CGROUP_FIELD_MAX];

/* Zeroed: all absent. */
typedef struct CgroupRecord {
        Reading fields[_CGROUP_FIELD_MAX];
        CountMap stat, events;
        PressureRecord pressure;
} CgroupRecord;

void cgroup_record_done(CgroupRecord *record);

/*
 * Fills an empty record; the keys of its maps are put into @names. JSON_E_MALFORMED with a
 * complaint.
 */
_must_check_ int cgroup_record_scan(CgroupRecord *record, Span json, KeyTree *names,
                                    char ret_complaint[static MEMBER_COMPLAINT_BYTES]);

/*
 * Merges the record of another cgroup that lands on the same key: counters are added, gauges take
 * the largest, a limit the loosest and a protection the weakest; a limit that one of them has not
 * set, or whose state is not known, does not become a number. The order of merging makes no
 * difference. Both records must have come from files, because an empty one would unset every limit.
 * 0 or -ENOMEM.
 */
_must_check_ int cgroup_record_merge(CgroupRecord *record, const CgroupRecord *from);

/* True for a key of memory.stat that is a number of bytes held now; all others count events. */
bool memory_stat_is_gauge(Span key);

/* cpu.max in thousandths of a CPU, to the nearest; absent if one of the two is, or no period. */
Reading cgroup_cpus(Reading quota_us, Reading period_us);
/* Writes it, or a difference of two, as a number of CPUs with a fraction, "max" or null. */
void cgroup_cpus_write(JsonWriter *writer, Reading cpus);
