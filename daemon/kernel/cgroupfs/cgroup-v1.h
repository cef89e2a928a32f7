/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupV1
 *
 * Controllers that this host uses in hierarchies of cgroup version 1. ctprof does not read those,
 * and a controller is in one hierarchy only: what it counts and limits is missing in version 2.
 */

#include <stddef.h>
#include "base/span.h"

#define CGROUP_V1_TEXT_BYTES 48 /* the names of all that are looked for */

/*
 * Those of the controllers whose version 2 is read that /proc/cgroups (kernel/cgroup/cgroup-v1.c)
 * has in a hierarchy other than 0, which is that of version 2: "cpu, memory", or "" for none. Lines
 * that are not in its grammar are skipped.
 */
void cgroup_v1_parse(Span text, char ret_names[static CGROUP_V1_TEXT_BYTES]);
/* The same of the file; "" as well when there is none. */
void cgroup_v1_read(int proc_fd, char ret_names[static CGROUP_V1_TEXT_BYTES]);
