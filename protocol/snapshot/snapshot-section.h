/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotSection
 *
 * The sections of a snapshot, in the order in which they are written. A new section is an id here,
 * a row in snapshot-reader.c, and if it is more than one object, a function of SnapshotVisitor.
 */

#include "document/document-reader.h"
#include "metric/host-part.h"

typedef enum SnapshotSection {
        SNAPSHOT_SECTION_HOST,
        SNAPSHOT_SECTION_HOST_CPU, /* and the other parts, in the order of metric/host-part.h */
        SNAPSHOT_SECTION_HOST_MEMORY,
        SNAPSHOT_SECTION_HOST_DISK,
        SNAPSHOT_SECTION_HOST_NETWORK,
        SNAPSHOT_SECTION_THREADS,
        SNAPSHOT_SECTION_LEDGER, /* null where no ledger of exits was kept */
        SNAPSHOT_SECTION_EXITED,
        SNAPSHOT_SECTION_MOVED,
        SNAPSHOT_SECTION_CGROUPS,
        SNAPSHOT_SECTION_PRESSURE,
        SNAPSHOT_SECTION_SCHED_EXT,
        SNAPSHOT_SECTION_PROBE_SUMMARY,
        _SNAPSHOT_SECTION_MAX,
} SnapshotSection;

_Static_assert(SNAPSHOT_SECTION_HOST_CPU + (int) _HOST_PART_MAX == SNAPSHOT_SECTION_THREADS,
               "the parts of the host follow each other");

extern const DocumentSection snapshot_sections[_SNAPSHOT_SECTION_MAX];
