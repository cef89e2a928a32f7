/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * A view as JSON
 *
 * The View object of the interface: how a view crosses the socket.
 */

#include <json-c/json.h>
#include "json/json-writer.h"
#include "view/view-words.h"
#include "view/view.h"

void view_write_json(JsonWriter *writer, const View *view);
/* @object: the View parameter, or NULL for the defaults. *ret is written on VIEW_OK only. */
_must_check_ int view_decode(json_object *object, View *ret,
                             char ret_complaint[static VIEW_COMPLAINT_BYTES]);
