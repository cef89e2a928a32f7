/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcSmaps
 *
 * /proc/PID/smaps_rollup: a header with the address range, then "Key:  n kB" lines
 * (fs/proc/task_mmu.c, show_smaps_rollup()). The keys differ between kernels; all are kept,
 * in bytewise order. Opening fails with ESRCH where there is no address space: kernel threads
 * and zombies.
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/number-map.h"

/* Keys are ASCII letters, digits and '_'; values are in kB of 1024 bytes. */
typedef NumberMap ProcSmaps;

/* PROCFS_E_MALFORMED also when there are more keys than fit: the later ones are left out. */
_must_check_ int proc_smaps_parse(Span text, ProcSmaps *ret);

/* {"Anonymous":2624,...}: numbers in kB, as the kernel prints them. */
static inline void proc_smaps_write_json(JsonWriter *writer, const ProcSmaps *smaps) {
        number_map_write_json(writer, smaps);
}
