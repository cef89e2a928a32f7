/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionModel
 *
 * The data of all sections: filled by sections_add_*() (sections.h), asked for rows by
 * section-row.h and written by section-json.h.
 */

#include "analysis/section/cgroup-record.h"
#include "analysis/section/host-section.h"
#include "analysis/section/sched-ext-record.h"
#include "analysis/section/smaps.h"
#include "snapshot/source.h"
#include "view/view.h"

#define SECTION_SIDES 2

typedef struct CgroupEntry {
        CgroupRecord *sides[SECTION_SIDES]; /* owned; NULL: not on that side */
} CgroupEntry;

typedef struct Sections {
        View view;
        unsigned n_sides;
        bool wants_cgroups;    /* else records of cgroups need not be read */
        KeyTree names;         /* keys of count maps, texts */
        KeyTree cgroups;       /* of CgroupEntry */
        KeyNode **cgroup_list; /* after sections_finish(): the ones that are shown, by key */
        size_t n_cgroups;
        Smaps smaps;
        /* Processes with more memory were left out of that side's capture; UINT64_MAX: none. */
        uint64_t smaps_max_rss_bytes[SECTION_SIDES];
        /* It was read of no more processes; 0: there was no such bound. */
        uint64_t smaps_max_processes[SECTION_SIDES];
        PressureRecord host[SECTION_SIDES];
        SchedExtRecord sched_ext[SECTION_SIDES];
        HostTotals totals[SECTION_SIDES];
        bool same_boot; /* the two sides are of one boot: counters of the host have rates */
        const SourceTable *sources[SECTION_SIDES]; /* borrowed; NULL: the file records none */

        /* after sections_finish() */
        HostLines host_lines[_HOST_PART_MAX];
        bool has_pressure[2][_PRESSURE_RESOURCE_MAX]; /* some number is not 0: of cgroups, host */
        bool shown[_SECTION_MAX];                     /* wanted, and has data */
        bool *cut[_SECTION_MAX];      /* owned, by cgroup or process; NULL: none is */
        uint64_t n_cut[_SECTION_MAX]; /* cgroups, processes, ... beyond the view's limit */

        char complaint[MEMBER_COMPLAINT_BYTES + 64]; /* without the name of the snapshot */
} Sections;

/* The part of the host that a section is about; _HOST_PART_MAX: it is about none. */
static inline HostPartId section_host_part(SectionId id) {
        return view_table_abouts[id] == SECTION_ABOUT_HOST_PART
                       ? (HostPartId) (id - SECTION_HOST_CPU)
                       : _HOST_PART_MAX;
}

static inline CgroupEntry *cgroup_entry(KeyNode *node) {
        return (CgroupEntry *) (void *) node->payload;
}
