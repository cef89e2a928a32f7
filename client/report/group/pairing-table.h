/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * PairingTable
 *
 * Which cgroups of BEFORE and AFTER were taken for one although they have different names, and on
 * what grounds.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "view/view.h"
#include "session/session.h"

/*
 * "Paired by content (3 cgroups)" and the table of the reply's pairings; nothing when there are
 * none.
 */
_must_check_ int pairing_table_print(const Session *session, json_object *reply);
/* Says of each pair that @view states and that was found in neither snapshot. */
void pairing_warn_unmatched(const View *view, json_object *reply);
