/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionJson
 *
 * The rows of sections as JSON, in parts of a bounded size. A part is an object of arrays, {NAME:
 * [ROW...]...}; arrays of the same name in successive parts are one list. A VALUE is, of one
 * side, a number, "max" or null; of two {"before", "after", "delta"} of such.
 *
 *     smaps-rollup    {"process", "key", "unit", "value": VALUE}; keys of smaps_is_counted(), too
 *     cgroup-stats    {"cgroup", "cpu": {"usage_usec", "nr_throttled", "throttled_usec"},
 *                      "memory": {"current"}}
 *     cgroup-limits   {"cgroup", "cpu": {"max_quota_us", "max_period_us", "cpus", "weight",
 *                      "weight_nice"}, "memory": {"max", "high", "low", "min"},
 *                      "pids": {"current", "max"}}
 *     memory-stat     {"cgroup", "key", "unit", "value": VALUE}
 *     memory-events   {"cgroup", "event", "unit", "count": VALUE}
 *     pressure        {"cgroup", "resource", "row", "avg10", "avg60", "avg300", "total_usec"}
 *     host-pressure   the same without cgroup
 *     host-cpu        {"cpu", "key", "unit", "value": VALUE, "perSecond"}; "all" are all CPUs
 *     host-memory     {"key", "unit", "value": VALUE, "perSecond"}
 *     host-disk       {"disk", "kind", "key", "unit", "value": VALUE, "perSecond"}
 *     host-network    {"interface", "kind", "key", "unit", "value": VALUE, "perSecond"}
 *     sched-ext       {"attr", "value": VALUE}
 *
 * A row whose disk or interface is null is about the host as a whole: its sums count no byte
 * twice. perSecond is there with two sides: a number for what is counted since boot, if both are of
 * one boot, else null. Then the delta is also right where a time that the kernel keeps in 32 bits
 * passed their end.
 *
 * A row with a null has "reason", in words; of two sides "before: ...; after: ...".
 *
 * "cpus" is the quota over the period, to three decimals.
 */

#include "json/json-writer.h"
#include "analysis/section/section-row.h"

/* Counts the cgroups, processes, CPUs, disks and interfaces that the view's limit cut off. */
uint64_t section_n_cut(const Sections *sections);
/* {NAME: N...}: how many of them the view's limit cut off; {} when none. */
void section_cuts_write(const Sections *sections, JsonWriter *writer);

/*
 * Writes one part, as the object that is due, until the writer's buffer holds @n_bytes; a part has
 * at least one row when there is one. False: there is more.
 */
bool section_part_write(const Sections *sections, SectionCursor *cursor, JsonWriter *writer,
                        size_t n_bytes);

/* A reason for each of two sides, and the words that join them. */
#define SECTION_REASON_BYTES (2 * (SOURCE_REASON_BYTES + 128))

/* A side of a row, and why something is missing there. */
typedef struct SectionGap {
        bool absent;       /* a value of the row is null */
        bool there;        /* the cgroup, process or host of the row is on that side */
        const char *words; /* the whole reason, borrowed; NULL: it follows from the source */
} SectionGap;

/*
 * Writes the member "reason" of a row where a value is absent: what the capture said of the source
 * that would have had the value, or that the cgroup or process is not there on that side, or that
 * it has no such value. One reason serves a row, since all its values are of one source.
 */
void section_reason_write(const Sections *sections, JsonWriter *writer, SectionId id,
                          const SectionGap gaps[static SECTION_SIDES]);
