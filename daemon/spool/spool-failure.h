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
#include "spool/spool.h"

typedef struct SpoolFailure {
        WireError error;
        WireErrorDetail detail; /* borrows from this struct, the spool and the name */
        char reason[SNAPSHOT_NAME_MAX_CHARS + 64];
        SpoolEntry *entries;
        size_t n_entries;
} SpoolFailure;

/* @r: SPOOL_E_* about the snapshot @name. False when it is none of them; then nothing is done. */
bool spool_failure_init(SpoolFailure *failure, Spool *spool, const char *name, int r);
void spool_failure_done(SpoolFailure *failure);
