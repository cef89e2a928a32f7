/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ViewPart
 *
 * A member of a view that is neither a flag nor a number: how the text of an option sets it, and
 * how it is read from and written as JSON. To add one, add a row to VIEW_PARTS in view.h and its
 * three functions in view-part.c.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "view/view-words.h"
#include "view/view.h"

#define VIEW_PART_ID(id, ...) VIEW_PART_##id,
typedef enum ViewPartId { VIEW_PARTS(VIEW_PART_ID) _VIEW_PART_MAX } ViewPartId;

/* The functions that return int return VIEW_OK, VIEW_E_INVALID with the complaint, or -ENOMEM. */
typedef struct ViewPart {
        const char *key;
        int (*set)(View *view, Span text, char *ret_complaint);
        int (*decode)(View *view, json_object *value, char *ret_complaint);
        /* Writes key and value; nothing when the view leaves the member at its default. */
        void (*write)(JsonWriter *writer, const View *view);
} ViewPart;

extern const ViewPart view_parts[_VIEW_PART_MAX];

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
