/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcCgroup
 *
 * /proc/PID/task/TID/cgroup: a line "id:controllers:path" for each hierarchy; the one of cgroup v2
 * is "0::path" (kernel/cgroup/cgroup.c, proc_cgroup_show()). The path is taken verbatim to the end
 * of the line; the kernel refuses newlines in cgroup names, nothing else.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"

#define PROC_CGROUP_DELETED_SUFFIX " (deleted)"
/*
 * A path of so many bytes is most probably the beginning of a longer one, and no cgroup's name
 * (proc_cgroup_show() of kernel/cgroup/cgroup.c writes into PATH_MAX bytes): it is malformed.
 */
#define PROC_CGROUP_CUT_BYTES 4095

typedef struct ProcCgroup {
        bool has_path; /* false on a host with v1 only */
        Span path;     /* raw bytes from its '/', borrowed */
        /* It ends in PROC_CGROUP_DELETED_SUFFIX, which is left in place: the cgroup was removed
         * under a zombie, unless it was given that very name. */
        bool deleted;
        bool outside; /* it has a ".." component: outside of the reader's cgroup namespace */
} ProcCgroup;

/* 0 also when there is no v2 line; PROCFS_E_MALFORMED for two, or for a path that is not one. */
_must_check_ int proc_cgroup_parse(Span text, ProcCgroup *ret);
