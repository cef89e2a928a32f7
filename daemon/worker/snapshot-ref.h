/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotRef
 *
 * How a call names a snapshot to a job: by an open descriptor, and a label for messages.
 */

#include <errno.h>
#include "base/cleanup.h"

typedef struct SnapshotRef {
        int fd;            /* owned */
        const char *label; /* NULL when there is none */
} SnapshotRef;

#define SNAPSHOT_REF_NONE ((SnapshotRef){ .fd = -EBADF })

static inline void snapshot_ref_done(SnapshotRef *ref) {
        ref->fd = fd_close(ref->fd);
}
