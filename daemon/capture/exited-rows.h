/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DeadRows
 *
 * Writes the ledger of threads that ended into a snapshot, as rows with the metrics that the
 * threads had while they lived.
 */

#include "base/macro.h"
#include "capture/scene/gates.h"
#include "kernel/bpf/ledger.h"
#include "snapshot/exited-row.h"
#include "snapshot/snapshot-writer.h"

/* Sets the members of @summary that say which owners have lost names. -ENOMEM. */
_must_check_ int exited_rows_find_losses(const Ledger *ledger, LedgerSummary *summary);
/* The path of a cgroup in which threads live on, borrowed; NULL: none with that id is known. */
typedef Span LivingCgroup(const void *userdata, uint64_t id);

/*
 * After the walk, which read the ledger: the sections "ledger" and "dead". @living is NULL where
 * the host has no cgroups of version 2: then the ids of tasks name none. -errno.
 */
_must_check_ int exited_rows_write(const Ledger *ledger, const Gates *gates, LivingCgroup *living,
                                   const void *userdata, SnapshotWriter *writer);
/* After that: the section "moved". -errno. */
_must_check_ int moved_rows_write(Ledger *ledger, LivingCgroup *living, const void *userdata,
                                  SnapshotWriter *writer);
