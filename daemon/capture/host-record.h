/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostRecord
 *
 * The totals of the host as a capture reads them, once: CPUs, memory, disks and network, each one
 * object of the document (metric/host-part.h). They are read right before the walk, the CPUs last,
 * so that the time that the host used between two captures can be held against the time that its
 * threads used.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "capture/batch/readings.h"
#include "kernel/procfs/host-files.h"
#include "metric/host-part.h"
#include "snapshot/snapshot-writer.h"

typedef struct HostRecord {
        Buffer json[_HOST_PART_MAX]; /* owned; empty: nothing of the part could be read */
        HostNetworkLack network;
        bool too_large[_HOST_PART_MAX]; /* it is more than a document may have in one member */
} HostRecord;

/* @sys_fd may be negative. Counts the outcomes in @tally. 0 or -ENOMEM. */
_must_check_ int host_record_read(HostRecord *record, int proc_fd, int sys_fd, Tally *tally);
