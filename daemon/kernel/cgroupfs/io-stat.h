/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * IoStat
 *
 * io.stat of a cgroup: a line "MAJ:MIN key=value ..." for each device (block/blk-cgroup.c,
 * blkcg_print_one_stat()). Some kernels print the name of a device without any number and without
 * ending its line; such devices are left out, and so are values that are not integers (cost.vrate).
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "kernel/text/text-file.h"

#define IO_STAT_MAX_DEVICES 512

/*
 * Writes {"8:0": {"rbytes": n, ...}, ...}, devices and keys in bytewise order. TEXT_E_MALFORMED
 * when a device or key comes twice or a word is neither a device nor a value; these are left out.
 */
_must_check_ int io_stat_write_json(JsonWriter *writer, Span text);
