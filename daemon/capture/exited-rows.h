/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitedRows
 *
 * Writes the ledger of threads that ended into a snapshot, as rows with the metrics that the
 * threads had while they lived.
 */

#include "base/macro.h"
#include "capture/cgroups.h"
#include "snapshot/exited-row.h"
#include "snapshot/snapshot-writer.h"

/* Sets the members of @summary that say which owners have lost names. -ENOMEM. */
_must_check_ int exited_rows_find_losses(const Ledger *ledger, LedgerSummary *summary);

/*
 * After the walk, which read the ledger of @host: the sections "ledger", "dead" and "moved".
 * @living has the cgroups in which threads live on. -errno.
 */
_must_check_ int exited_rows_write(const CaptureHost *host, const CgroupSet *living,
                                   SnapshotWriter *writer);
