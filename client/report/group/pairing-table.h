/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * PairingTable
 *
 * The cgroups of BEFORE and AFTER that were compared with each other although they have different
 * names, and the reason why.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "view/view.h"
#include "session/session.h"

/*
 * Prints "Paired by content (3 cgroups)" and a table of the pairings in @reply; nothing if there
 * are none.
 */
_must_check_ int pairing_table_print(const Session *session, json_object *reply);
/* Warns about each pair of --pair that paired nothing. */
void pairing_warn_unmatched(const View *view, json_object *reply);
