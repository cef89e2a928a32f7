/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolFailure
 *
 * The protocol's error for an outcome of the spool, with its details. The main process and the jobs
 * answer with the same errors.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/name.h"
#include "interface/interface.h"
#include "spool/spool-index.h"
#include "spool/spool.h"

typedef struct SpoolFailure {
        WireError error;
        /* Borrows from this struct, which must stay in place, from the spool and from the name. */
        WireErrorDetail detail;
        char reason[SNAPSHOT_NAME_MAX_CHARS + 64];
        char nearest[SNAPSHOT_NAME_MAX_CHARS + 1];
} SpoolFailure;

/*
 * @r: SPOOL_E_* about the snapshot @name. False when it is none of them; then nothing is done. A
 * name that is not there is compared with those in @view, or without one (NULL) in the directory.
 */
bool spool_failure_init(SpoolFailure *failure, Spool *spool, const SpoolView *view,
                        const char *name, int r);
