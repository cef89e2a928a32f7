/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Putting words into a view
 *
 * Words come from a command line, as lists, or from a call, one by one. Either way the name is
 * checked against the registry here. All functions return VIEW_OK, or VIEW_E_INVALID with the
 * complaint.
 */

#include "view/view-words.h"
#include "view/view.h"

/*
 * Setters for command lines: comma-separated lists with blanks allowed around the entries, letters
 * of either case; empty entries, duplicates and unknown words refused. An entry of the metrics may
 * be a glob (* ? [...]) that matches at least one name. After VIEW_E_INVALID @view is unchanged.
 */
_must_check_ int view_set_axis(View *view, Span name,
                               char ret_complaint[static VIEW_COMPLAINT_BYTES]);
_must_check_ int view_set_sections(View *view, Span list,
                                   char ret_complaint[static VIEW_COMPLAINT_BYTES]);
_must_check_ int view_set_metrics(View *view, Span list,
                                  char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* Adds one glob behind those that are there; it is taken as it is, blanks included. */
_must_check_ int view_add_cgroup_flatten(View *view, Span glob,
                                         char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* Adds "OLD=NEW", the keys of one cgroup before and after; the first '=' divides them. */
_must_check_ int view_add_pair(View *view, Span text,
                               char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* The order: view-sort.h tells the grammar. */
_must_check_ int view_set_sort(View *view, Span text,
                               char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* A glob, taken as it is; the one that was there is replaced. */
_must_check_ int view_set_filter(View *view, Span glob,
                                 char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* A number of percent: digits, with at most one point, and perhaps a '%' behind. */
_must_check_ int view_set_threshold(View *view, Span text,
                                    char ret_complaint[static VIEW_COMPLAINT_BYTES]);

/* The rest is for view_decode(), which has the words one by one. */

/* Puts one word of a list into @view. */
typedef int (*ViewAdd)(View *view, Span word, char *ret_complaint);

int view_put_axis(View *view, Span word, char *ret_complaint);
int view_put_section(View *view, Span word, char *ret_complaint);
int view_put_metric(View *view, Span word, char *ret_complaint);
/* A glob off the wire, where bytes travel as names do. */
int view_put_flatten_name(View *view, Span name, char *ret_complaint);
int view_put_pair(View *view, Span old_key, Span new_key, char *ret_complaint);

/* Forget the default: only sections or metrics put in afterwards are wanted. */
void view_drop_sections(View *view);
void view_drop_metrics(View *view);
