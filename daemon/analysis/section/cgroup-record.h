/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * PressureRecord
 *
 * Pressure stall information as a snapshot has it, of the host or of a cgroup. Averages are
 * hundredths of a percent and may pass 100 %; totals are microseconds.
 */

#include "analysis/section/count-map.h"
#include "base/span.h"

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

/* Fills in one member of what a snapshot has; @userdata: the record. For member_scan_text(). */
_must_check_ int pressure_record_scan(void *userdata, JsonScanner *scanner, Span key);

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

/*
 * CgroupRecord
 *
 * The values of one cgroup of a snapshot, or of several that land on one key, as far as sections
 * show them. Format version 0 has null both for a limit that is not set and for one that could not
 * be read, so such a limit is not known here.
 */

// clang-format off
/*
 * In the order of the documents, object by object.
 *        id               object    member            kind    section  of records on one key */
#define CGROUP_FIELDS(F)                                                                           \
        F(USAGE_USEC,      "cpu",    "usage_usec",     COUNT,  STATS,   READING_MERGE_SUM)         \
        F(NR_THROTTLED,    "cpu",    "nr_throttled",   COUNT,  STATS,   READING_MERGE_SUM)         \
        F(THROTTLED_USEC,  "cpu",    "throttled_usec", COUNT,  STATS,   READING_MERGE_SUM)         \
        F(MAX_QUOTA_US,    "cpu",    "max_quota_us",   LIMIT,  LIMITS,  READING_MERGE_LARGEST)     \
        F(MAX_PERIOD_US,   "cpu",    "max_period_us",  COUNT,  LIMITS,  READING_MERGE_PEAK)        \
        F(WEIGHT,          "cpu",    "weight",         COUNT,  LIMITS,  READING_MERGE_LARGEST)     \
        F(WEIGHT_NICE,     "cpu",    "weight_nice",    SIGNED, LIMITS,  READING_MERGE_LARGEST)     \
        F(MEMORY_CURRENT,  "memory", "current",        COUNT,  STATS,   READING_MERGE_PEAK)        \
        F(MEMORY_MAX,      "memory", "max",            LIMIT,  LIMITS,  READING_MERGE_LARGEST)     \
        F(MEMORY_HIGH,     "memory", "high",           LIMIT,  LIMITS,  READING_MERGE_LARGEST)     \
        F(MEMORY_LOW,      "memory", "low",            LIMIT,  LIMITS,  READING_MERGE_SMALLEST)    \
        F(MEMORY_MIN,      "memory", "min",            LIMIT,  LIMITS,  READING_MERGE_SMALLEST)    \
        F(PIDS_CURRENT,    "pids",   "current",        COUNT,  LIMITS,  READING_MERGE_SUM)         \
        F(PIDS_MAX,        "pids",   "max",            LIMIT,  LIMITS,  READING_MERGE_LARGEST)
// clang-format on

#define CGROUP_FIELD_ID(id, ...) CGROUP_FIELD_##id,
typedef enum CgroupField { CGROUP_FIELDS(CGROUP_FIELD_ID) _CGROUP_FIELD_MAX } CgroupField;

typedef enum CgroupFieldSection { CGROUP_FIELD_STATS, CGROUP_FIELD_LIMITS } CgroupFieldSection;

typedef struct CgroupFieldRow {
        const char *object;
        const char *member;
        ReadingKind kind;
        CgroupFieldSection section;
        ReadingMerge merge;
} CgroupFieldRow;

extern const CgroupFieldRow cgroup_field_table[_CGROUP_FIELD_MAX];

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
