/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostMemory
 *
 * The memory of the host: all of /proc/meminfo (fs/proc/meminfo.c), and of /proc/vmstat
 * (mm/vmstat.c) the events of paging, reclaim, compaction, huge pages, swap and the OOM killer. The
 * levels that vmstat prints too, in pages, are in meminfo.
 */

#include <stdint.h>
#include "kernel/procfs/host-row.h"

/* Returns whether a key of /proc/vmstat is one of those events. */
bool host_memory_wants(Span vmstat_key);

/*
 * Members, with the kernel's own keys: levels_kib (the lines of meminfo in kB), levels (its other
 * lines, which count pages of a kind), counts (vmstat). @text is scratch memory.
 */
void host_memory_read(int proc_fd, Buffer *text, JsonWriter *json,
                      uint64_t counts[static _SOURCE_OUTCOME_MAX]);
