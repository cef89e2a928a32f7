/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Putting words into a view
 *
 * One word at a time, as it stands, whether it came from a command line or a call: what both ways
 * into a View share. VIEW_OK, or VIEW_E_INVALID with the complaint.
 */

#include "view/view.h"
#include "view/view-words.h"

/* Puts one word of a list into @view. */
typedef int (*ViewAdd)(View *view, Span word, char *ret_complaint);

int view_put_axis(View *view, Span word, char *ret_complaint);
int view_put_section(View *view, Span word, char *ret_complaint);
int view_put_metric(View *view, Span word, char *ret_complaint);
/* A glob off the wire, where bytes travel as names do. */
int view_put_flatten_name(View *view, Span name, char *ret_complaint);
int view_put_pair(View *view, Span old_key, Span new_key, char *ret_complaint);

/* From here on only what is put in is wanted. */
void view_drop_sections(View *view);
void view_drop_metrics(View *view);
