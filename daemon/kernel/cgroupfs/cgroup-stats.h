/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CgroupStats
 *
 * The numbers of one cgroup as one object of JSON, straight from its files:
 *
 *   {"cpu": {"usage_usec", "user_usec", "system_usec", "nr_periods", "nr_throttled",
 *            "throttled_usec"          (cpu.stat),
 *            "max_quota_us" ("max" or integer), "max_period_us"   (cpu.max),
 *            "max_burst_us"            (cpu.max.burst),
 *            "weight", "weight_nice"   (cpu.weight, cpu.weight.nice)},
 *    "memory": {"current", "peak", "max", "high", "low", "min", "swap_current", "swap_max"
 *               (memory.*; bytes), "stat": {key: n}, "events": {key: n}},
 *    "pids": {"current", "peak", "max", "events": {key: n}},
 *    "io": {"MAJ:MIN": {"rbytes": n, ...}},
 *    "psi": {...}  (kernel/text/pressure.h)}
 *
 * A limit that is not set is the string "max". A value that could not be read is null. The root
 * cgroup, and cgroups without a controller, lack files of that controller, which is not a failure.
 */

#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/text/text-file.h"
#include "snapshot/source.h"

#define CGROUP_STATS_FILE_BYTES \
        (64 * 1024) /* the largest file: io.stat of a host with many disks */

/* The outcomes of the files, by source; they are added up, never reset here. */
typedef struct CgroupCounts {
        uint64_t stats[_SOURCE_OUTCOME_MAX];    /* cgroup-stats */
        uint64_t pressure[_SOURCE_OUTCOME_MAX]; /* cgroup-pressure */
} CgroupCounts;

/*
 * Reads the cgroup of @group_fd and appends its object to @json. @scratch is memory for the files
 * that later calls use again. TEXT_E_VANISHED when the cgroup was removed before or while it
 * was read; that counts once in each source. @json is as before unless 0 is returned.
 */
_must_check_ int cgroup_stats_read(int group_fd, Buffer *scratch, Buffer *json,
                                   CgroupCounts *counts);

#define IO_STAT_MAX_DEVICES 512

/*
 * io.stat has a line "MAJ:MIN key=value ..." for each device (block/blk-cgroup.c,
 * blkcg_print_one_stat()). Some kernels print the name of a device without any number and without
 * ending its line; such devices are left out, and so are values that are not integers (cost.vrate).
 *
 * Writes {"8:0": {"rbytes": n, ...}, ...}, devices and keys in bytewise order. TEXT_E_MALFORMED
 * when a device or key comes twice or a word is neither a device nor a value; these are left out.
 */
_must_check_ int io_stat_write_json(JsonWriter *writer, Span text);
