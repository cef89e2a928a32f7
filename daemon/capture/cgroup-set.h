/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupSet
 *
 * The distinct cgroups that threads live in, by path, and of each whether the threads of one
 * process may be spread over cgroups there. Its size goes with the number of cgroups, not of
 * threads. One thread uses a set.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

typedef enum CgroupThreading {
        CGROUP_THREADING_UNKNOWN, /* not asked yet */
        CGROUP_THREADING_WHOLE,   /* a process is in one cgroup with all its threads */
        CGROUP_THREADING_SPREAD,  /* each thread has a cgroup of its own; also when not readable */
} CgroupThreading;

typedef struct CgroupEntry {
        Span path; /* owned by the set; stays where it is until the set is done */
        uint64_t hash;
        CgroupThreading threading;
        bool inhabited; /* a thread that was kept lives in it, or in one below it */
} CgroupEntry;

typedef struct CgroupSet {
        CgroupEntry **slots; /* owned, and the entries; open addressing */
        size_t n_slots;      /* a power of two, or 0 */
        size_t n_entries;
} CgroupSet;

static inline void cgroup_set_init(CgroupSet *set) {
        *set = (CgroupSet){};
}
/* The set is empty and usable again. */
void cgroup_set_done(CgroupSet *set);

/* The entry of @path, made when there is none yet; borrowed. -ENOMEM. */
_must_check_ int cgroup_set_add(CgroupSet *set, Span path, CgroupEntry **ret);

/* Adds the inhabited cgroups of @other, and all cgroups above them. -ENOMEM. */
_must_check_ int cgroup_set_merge(CgroupSet *set, const CgroupSet *other);

/* All entries in bytewise order of their paths: an owned array of borrowed entries. -ENOMEM. */
_must_check_ int cgroup_set_sort(const CgroupSet *set, CgroupEntry ***ret, size_t *ret_n);

/* The path has a ".." component: it lies outside of what this cgroup namespace can see. */
bool cgroup_path_is_outside(Span path);
