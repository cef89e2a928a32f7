/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostDisk
 *
 * What the disks of the host have done since boot: /proc/diskstats (block/genhd.c,
 * diskstats_show()). Sectors there have 512 bytes on every disk. What a disk is follows from its
 * name and, where /sys can be read, from the disks below it, so that no byte enters a total twice.
 */

#include <stdbool.h>
#include <stdint.h>
#include "kernel/procfs/host-row.h"

#define HOST_DISK_LEAST_COLUMNS 11 /* discards came with 4.18, flushes with 5.5 */

typedef struct DiskLine {
        uint32_t major, minor;
        Span name;
        HostRow row;
} DiskLine;

/* " 254       0 vda 1 2 3 ..." */
bool disk_line_parse(Span line, DiskLine *ret);

/*
 * The kernel names a partition after its disk: "sda1" of "sda", "nvme0n1p1" of "nvme0n1", whose
 * name ends in a digit.
 */
bool disk_is_partition_of(Span name, Span disk);

/*
 * What the disk is that is not a partition. @text: all of diskstats, where the paths of an NVMe
 * multipath disk are ("nvme0c1n1" of "nvme0n1"); they are the disks then. @block_fd: the directory
 * /sys/class/block, or negative.
 */
HostKind disk_find_kind(Span name, Span text, int block_fd);

/* Members: the disks and partitions in the order of the file. @sys_fd may be negative. */
void host_disk_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                    uint64_t counts[static _SOURCE_OUTCOME_MAX]);
