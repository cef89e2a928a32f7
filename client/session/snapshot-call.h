/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotCall
 *
 * The calls that several verbs make: capture a snapshot, and list the snapshots of the spool. Both
 * obey the options of the command line and return 0, or an exit status after explaining it.
 */

#include <json-c/json.h>
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
