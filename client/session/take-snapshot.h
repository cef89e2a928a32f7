/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TakeSnapshot
 *
 * One capture through the daemon, for the verbs that make one.
 */

#include <json-c/json.h>
#include "session/session.h"

/*
 * Captures under the name @tag (NULL: the daemon names it). *ret is the reply {snapshot, sources,
 * ...}, owned by the caller. With @ret_fd the snapshot is anonymous and comes as a descriptor. 0 or
 * an exit status, said.
 */
int take_snapshot(Session *session, const char *tag, json_object **ret, int *ret_fd);
