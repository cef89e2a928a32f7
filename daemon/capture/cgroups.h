/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cgroups
 *
 * The cgroups of a capture: which one each thread lives in, and the statistics of those cgroups and
 * of all above them. Each worker collects a set of them; the sets are merged before the statistics
 * are read. The size of a set goes with the number of cgroups, not of threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"
#include "capture/pace.h"
#include "capture/batch/readings.h"
#include "snapshot/snapshot-writer.h"

typedef enum CgroupThreading {
        CGROUP_THREADING_UNKNOWN, /* not read yet */
        CGROUP_THREADING_WHOLE,   /* all threads of a process are in one cgroup */
        CGROUP_THREADING_SPREAD,  /* each thread must be read; also when that is not known */
} CgroupThreading;

typedef struct CgroupEntry {
        Span path;   /* owned by the set; stays where it is until the set is done */
        uint64_t id; /* the number of its directory, which tasks know; 0: not known */
        size_t number;
        CgroupThreading threading;
        bool inhabited; /* a thread that was kept lives in it or below it */
} CgroupEntry;

/* Each cgroup once. One thread uses a set. */
typedef struct CgroupSet {
        CgroupEntry **entries; /* owned, and so is each entry */
        size_t n_entries, n_allocated;
        Index index;        /* by path */
        Index index_of_ids; /* of the entries whose id is known */
} CgroupSet;

/* The set is empty and usable again. */
void cgroup_set_done(CgroupSet *set);

/* The entry of @path, which is added when it is new; borrowed. -ENOMEM. */
_must_check_ int cgroup_set_add(CgroupSet *set, Span path, CgroupEntry **ret);

/* The entry with this id, or NULL. */
const CgroupEntry *cgroup_set_find(const CgroupSet *set, uint64_t id);

/* Adds the inhabited cgroups of @other, and all cgroups above them. -ENOMEM. */
_must_check_ int cgroup_set_merge(CgroupSet *set, const CgroupSet *other);

/*
 * Sets the cgroup of all kept threads of @process: of one of them for all, unless the cgroup allows
 * the threads of a process to be spread. @set remembers which do. A thread that turns out to be
 * gone vanishes. Where the slots have the ids of their cgroups, @set remembers the paths, so that
 * one thread of each cgroup is asked.
 */
void cgroups_read_membership(Readings *readings, const BatchProcess *process, CgroupSet *set);

/*
 * Writes the cgroups of @set in bytewise order of their paths. One that went meanwhile, or that
 * cannot be seen from here, is left out and counted. 0, CAPTURE_E_CANCELLED, -errno.
 */
_must_check_ int cgroups_write(const CaptureHost *host, const CgroupSet *set, Pace *pace,
                               SnapshotWriter *writer, Tally *tally);
