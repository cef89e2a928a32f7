/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reply names
 *
 * Names of snapshots in a reply of the daemon end up on command lines: a completion offers them, a
 * user copies them from a list, and export makes them paths. A daemon of ours sends only names that
 * base/name.h accepts; any other reply is refused as a whole, before a verb sees it.
 */

#include <json-c/json.h>
#include "session/complain.h"

/*
 * NULL when every snapshot name in @parameters is valid. Else why the first that is not is refused,
 * as the rest of a sentence that begins with the name, which is left quoted in @ret_quoted.
 */
const char *reply_names_complaint(json_object *parameters, char ret_quoted[static QUOTE_BYTES]);
