/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ViewPart
 *
 * A member of a view that is neither a flag nor a number: the text of an option sets it, and it is
 * read from and written as JSON. To add one, add a row to VIEW_PARTS in view.h and its case to
 * view_set(), decode_part() and view_write_json(). Those that return int return VIEW_OK,
 * VIEW_E_INVALID with the complaint, or -ENOMEM.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "view/view-words.h"
#include "view/view.h"

#define VIEW_PART_ID(id, ...) VIEW_PART_##id,
typedef enum ViewPartId { VIEW_PARTS(VIEW_PART_ID) _VIEW_PART_MAX } ViewPartId;

/*
 * Sets a member from the text of an option. Lists are separated by commas, with blanks allowed
 * around the entries and letters of either case; empty entries, duplicates and unknown words are
 * refused. After VIEW_E_INVALID @view is unchanged.
 *
 *     axis, sections   names
 *     metrics          names, and globs (* ? [...]) that match at least one name
 *     cgroup_flatten   one glob, added behind those that are there; taken as it is
 *     pairs            "OLD=NEW", the keys of one cgroup before and after, added; the first '='
 *                      divides them
 *     sort             view-sort.h tells the grammar
 *     filter           a glob, taken as it is
 *     threshold        percent: digits, with at most one point, and perhaps a '%' behind
 */
_must_check_ int view_set(View *view, ViewPartId part, Span text,
                          char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* The View object of the interface: a view crosses the socket in it. */
void view_write_json(JsonWriter *writer, const View *view);
/* @object: the View parameter, or NULL for the defaults. *ret is written on VIEW_OK only. */
_must_check_ int view_decode(json_object *object, View *ret,
                             char ret_complaint[static VIEW_COMPLAINT_BYTES]);
