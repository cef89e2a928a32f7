/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SchedExt
 *
 * The state of the extensible scheduler class (/sys/kernel/sched_ext; kernel/sched/ext.c): state
 * ("enabled", "disabled", ...), switch_all, nr_rejected (from 0 at every load), hotplug_seq,
 * enable_seq; and, while a scheduler is loaded, its name ("ops") and its event counters ("events",
 * an object) from root/.
 */

#include <stdint.h>
#include "base/macro.h"
#include "json/json-writer.h"
#include "kernel/procfs/procfs.h"
#include "snapshot/source.h"

/*
 * Always writes one value into @json: the object, with null for what could not be read, or null.
 * Counts the outcome of each file in @counts. 0 for an object; TEXT_E_ABSENT when this kernel has
 * no such directory (not applicable, so nothing is counted); TEXT_E_DENIED or a negative errno
 * when it cannot be opened.
 */
_must_check_ int sched_ext_read(int sys_fd, JsonWriter *json,
                                uint64_t counts[static _SOURCE_OUTCOME_MAX]);
