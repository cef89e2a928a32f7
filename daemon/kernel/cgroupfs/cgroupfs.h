/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cgroupfs
 *
 * The mounted cgroup v2 hierarchy. It is found through mountinfo, because hybrid hosts mount it at
 * /sys/fs/cgroup/unified, and addressed by the paths of /proc/PID/cgroup. A path never leads out of
 * the mount: no "..", no symbolic link, no other file system.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "kernel/text/text-file.h"

/* Outcomes besides those of a file (text-file.h). */
enum {
        CGROUPFS_E_NO_MOUNT = 32, /* no cgroup v2 hierarchy is mounted here */
        CGROUPFS_E_OUTSIDE,       /* the path is not below what is mounted */
};

#define CGROUPFS_PATH_BYTES 4096

typedef struct CgroupMount {
        char point[CGROUPFS_PATH_BYTES]; /* where it is mounted; absolute, decoded */
        char root[CGROUPFS_PATH_BYTES];  /* the cgroup mounted there: "/" except for bind mounts */
} CgroupMount;

/*
 * Finds the @nth cgroup v2 mount, from 0, in the text of mountinfo. Mounts of the whole hierarchy
 * (root "/") come first, then the others, both in the order of the file. Mounts of cgroups above
 * the reader's namespace are left out. Octal escapes are decoded. CGROUPFS_E_NO_MOUNT when there
 * are fewer.
 */
_must_check_ int cgroup_mount_parse(Span mountinfo, size_t nth, CgroupMount *ret);

typedef struct Cgroupfs {
        int root_fd;                    /* the mount's root directory */
        char root[CGROUPFS_PATH_BYTES]; /* its cgroup: "/" except for bind mounts */
} Cgroupfs;

/*
 * Finds and opens the hierarchy that the calling process sees: @proc_fd is /proc, for
 * self/mountinfo. A mount that is covered by another one is skipped. CGROUPFS_E_NO_MOUNT,
 * TEXT_E_DENIED.
 */
_must_check_ int cgroupfs_open(int proc_fd, Cgroupfs **ret);
Cgroupfs *cgroupfs_free(Cgroupfs *cgroupfs);
DEFINE_CLEANUP(Cgroupfs *, cgroupfs_free);

/*
 * Opens the directory of the cgroup @path (as of /proc/PID/cgroup, raw bytes). A path with the
 * suffix " (deleted)" is looked up like any other, and is TEXT_E_VANISHED unless a cgroup has that
 * very name. TEXT_E_MALFORMED for no path: one with "." or "..", or no '/' at its begin.
 * CGROUPFS_E_OUTSIDE, TEXT_E_DENIED.
 */
_must_check_ int cgroupfs_open_group(const Cgroupfs *cgroupfs, Span path, int *ret_fd);

/* The cgroup above: "/a/b", "/a", "/", and then false. @path must begin with '/'. */
bool cgroup_path_parent(Span path, Span *ret);

/*
 * Says whether threads of one process may be spread over cgroups here: cgroup.type is "threaded" or
 * "domain threaded". The real root has no such file and is not threaded by itself.
 */
_must_check_ int cgroup_is_threaded(int group_fd, bool *ret);
/* Returns whether a child of @group_fd is "threaded", which makes the root a threaded domain. */
_must_check_ int cgroup_has_threaded_child(int group_fd, bool *ret);

/*
 * CgroupV1
 *
 * Controllers that this host uses in hierarchies of cgroup version 1. ctprof does not read those,
 * and a controller is in one hierarchy only: what it counts and limits is missing in version 2.
 */

#define CGROUP_V1_TEXT_BYTES 48 /* the names of all that are looked for */

/*
 * Those of the controllers whose version 2 is read that /proc/cgroups (kernel/cgroup/cgroup-v1.c)
 * has in a hierarchy other than 0, which is that of version 2: "cpu, memory", or "" for none, and
 * when there is no such file. Lines that are not in its grammar are skipped.
 */
void cgroup_v1_read(int proc_fd, char ret_names[static CGROUP_V1_TEXT_BYTES]);
