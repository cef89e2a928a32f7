/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupRecord
 *
 * The values of one cgroup of a snapshot, or of several that land on one key, as far as sections
 * show them. Format version 0 has null both for a limit that is not set and for one that could not
 * be read, so such a limit is not known here.
 */

#include "base/span.h"
#include "analysis/section/count-map.h"
#include "analysis/section/pressure-record.h"
#include "analysis/section/reading.h"

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
