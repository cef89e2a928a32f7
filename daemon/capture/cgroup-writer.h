/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupWriter
 *
 * The cgroups of a snapshot: every one that a kept thread lives in and those above it, in bytewise
 * order of their paths. One that went meanwhile, or that cannot be seen from here, is counted.
 */

#include "base/macro.h"
#include "capture/cgroup-set.h"
#include "capture/pace.h"
#include "capture/tally.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "snapshot/snapshot-writer.h"

/* 0, CAPTURE_E_CANCELLED, -errno. */
_must_check_ int cgroup_writer_run(const Cgroupfs *cgroupfs, const CgroupSet *cgroups, Pace *pace,
                                   SnapshotWriter *writer, Tally *tally);
