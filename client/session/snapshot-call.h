/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotCall
 *
 * The calls that several verbs make: capture a snapshot, and list the snapshots of the spool. Both
 * obey the options of the command line and return 0, or an exit status after explaining it.
 */

#include <json-c/json.h>
#include "base/span.h"
#include "session/reference.h"
#include "session/session.h"

/*
 * Captures under the name @tag (NULL: the daemon names it). *ret is the reply {snapshot, sources,
 * ...}, owned by the caller. With @ret_fd the snapshot is anonymous and comes as a descriptor.
 */
int take_snapshot(Session *session, const char *tag, json_object **ret, int *ret_fd);
/*
 * *ret is the reply {snapshots, unreadable}, newest first, owned by the caller. @of_time: only
 * those that --since and --until leave.
 */
int list_snapshots(Session *session, bool of_time, json_object **ret);
/* *ret is the reply {snapshot, host, sources} about @snapshot, owned by the caller. */
int describe_snapshot(Session *session, const Reference *snapshot, json_object **ret);

/* True for the head of a recording; earlier daemons know only snapshots, and do not say so. */
bool head_is_of_recording(json_object *head);

/*
 * OwnCaptures
 *
 * The snapshots of the spool that this host took itself, in the order of time: captures of one boot
 * follow each other by CLOCK_BOOTTIME, which nobody sets, and boots by the wall clock; where that
 * was set between two captures of a boot, the first one dates the boot. Snapshots that were
 * imported are of another host, or of another spool of this one, and are left out, and so are
 * recordings, which are intervals.
 */
typedef struct OwnCapture {
        json_object *head; /* borrowed of the list */
        const char *name;  /* likewise */
        Span boot_id;
        uint64_t boot_begin_ns; /* CLOCK_REALTIME of its boot, as the first snapshot of it tells */
        uint64_t start_boottime_ns, end_realtime_ns;
} OwnCapture;

typedef struct OwnCaptures {
        json_object *list; /* owned */
        OwnCapture *all;   /* owned; the oldest first */
        size_t n;
} OwnCaptures;

/* @ret is zeroed by the caller, and done by it in any case. 0 or an exit status. */
int own_captures_list(Session *session, OwnCaptures *ret);
void own_captures_done(OwnCaptures *captures);
bool own_captures_share_boot(const OwnCapture *a, const OwnCapture *b);
