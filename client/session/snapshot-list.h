/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotList
 *
 * What is in the spool, for the verbs that look there before they act.
 */

#include <json-c/json.h>
#include "session/session.h"

/* *ret is the reply {snapshots, unreadable}, owned by the caller. 0 or an exit status, said. */
int list_snapshots(Session *session, json_object **ret);
