/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cgroups
 *
 * The cgroups of a capture: which one each thread lives in, and the statistics of those cgroups and
 * of all above them.
 */

#include "base/macro.h"
#include "capture/cgroup-set.h"
#include "capture/pace.h"
#include "capture/scene/scene.h"
#include "snapshot/snapshot-writer.h"

/*
 * Sets the cgroup of all kept threads of @process: of one of them for all, unless the cgroup allows
 * the threads of a process to be spread. @set remembers which do. A thread that turns out to be
 * gone vanishes.
 */
void cgroups_read_membership(Scene *scene, const BatchProcess *process, CgroupSet *set);

/*
 * Writes the cgroups of @set in bytewise order of their paths. One that went meanwhile, or that
 * cannot be seen from here, is left out and counted. 0, CAPTURE_E_CANCELLED, -errno.
 */
_must_check_ int cgroups_write(const CaptureHost *host, const CgroupSet *set, Pace *pace,
                               SnapshotWriter *writer, Tally *tally);
