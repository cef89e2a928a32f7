/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotSection
 *
 * The sections of a snapshot, in the order in which they are written. A new section is an id here,
 * a row in snapshot-reader.c, and if it is more than one object, a function of SnapshotVisitor; the
 * parts of the host follow from their list (metric/host-part.h).
 */

#include "document/document-reader.h"
#include "metric/host-part.h"

#define SNAPSHOT_SECTION_ID(id, ...) SNAPSHOT_SECTION_HOST_##id,
typedef enum SnapshotSection {
        SNAPSHOT_SECTION_HOST,
        HOST_PARTS(SNAPSHOT_SECTION_ID, ) /* SNAPSHOT_SECTION_HOST_CPU... */
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

extern const DocumentSection snapshot_sections[_SNAPSHOT_SECTION_MAX];
