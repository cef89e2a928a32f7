/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupSet
 *
 * The cgroups that threads live in, each once, and whether the threads of one process may live in
 * different cgroups there. Its size goes with the number of cgroups, not of threads. One thread
 * uses a set.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/index.h"
#include "base/macro.h"
#include "base/span.h"

typedef enum CgroupThreading {
        CGROUP_THREADING_UNKNOWN, /* not read yet */
        CGROUP_THREADING_WHOLE,   /* all threads of a process are in one cgroup */
        CGROUP_THREADING_SPREAD,  /* each thread must be read; also when that is not known */
} CgroupThreading;

typedef struct CgroupEntry {
        Span path; /* owned by the set; stays where it is until the set is done */
        CgroupThreading threading;
        bool inhabited; /* a thread that was kept lives in it or below it */
} CgroupEntry;

typedef struct CgroupSet {
        CgroupEntry **entries; /* owned, and so is each entry */
        size_t n_entries, n_allocated;
        Index index; /* by path */
} CgroupSet;

static inline void cgroup_set_init(CgroupSet *set) {
        *set = (CgroupSet){};
}
/* The set is empty and usable again. */
void cgroup_set_done(CgroupSet *set);

/* The entry of @path, which is added when it is new; borrowed. -ENOMEM. */
_must_check_ int cgroup_set_add(CgroupSet *set, Span path, CgroupEntry **ret);

/* Adds the inhabited cgroups of @other, and all cgroups above them. -ENOMEM. */
_must_check_ int cgroup_set_merge(CgroupSet *set, const CgroupSet *other);

/* All entries in bytewise order of their paths: an owned array of borrowed entries. -ENOMEM. */
_must_check_ int cgroup_set_sort(const CgroupSet *set, CgroupEntry ***ret, size_t *ret_n);

/* The path has a ".." component: it lies outside of the reader's cgroup namespace. */
bool cgroup_path_is_outside(Span path);
