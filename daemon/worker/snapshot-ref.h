/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotRef
 *
 * How a call names a snapshot to a job: by an open descriptor, and a label for messages; and how it
 * names a subject, which is a snapshot or the interval between two.
 */

#include <errno.h>
#include <stdbool.h>
#include "base/cleanup.h"

typedef struct SnapshotRef {
        int fd;            /* owned */
        const char *label; /* NULL when there is none */
} SnapshotRef;

#define SNAPSHOT_REF_NONE ((SnapshotRef){ .fd = -EBADF })

static inline void snapshot_ref_done(SnapshotRef *ref) {
        ref->fd = fd_close(ref->fd);
}

typedef struct SubjectRef {
        SnapshotRef ends[2]; /* the second one only of an interval */
        bool is_interval;
} SubjectRef;

#define SUBJECT_REF_NONE ((SubjectRef){ .ends = { SNAPSHOT_REF_NONE, SNAPSHOT_REF_NONE } })

static inline void subject_ref_done(SubjectRef *ref) {
        snapshot_ref_done(&ref->ends[0]);
        snapshot_ref_done(&ref->ends[1]);
}
