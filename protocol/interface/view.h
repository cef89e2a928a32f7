/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * View
 *
 * How show and compare group, filter and order: the same struct is filled from a command line, sent
 * as the View object of the interface, and read by the analysis job. Names are checked against the
 * registry where they enter, so an id in here is always valid.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "interface/section-list.h"
#include "interface/view-texts.h"
#include "json/json-writer.h"
#include "metric/metric.h"

#define VIEW_DEFAULT_LIMIT 40
#define VIEW_COMPLAINT_BYTES 512

// clang-format off
#define VIEW_AXES(A)                                                                               \
        A(PCOMM,      "pcomm",      "process")                                                     \
        A(COMM,       "comm",       "thread")                                                      \
        A(COMM_EXACT, "comm-exact", "thread")                                                      \
        A(CGROUP,     "cgroup",     "cgroup")                                                      \
        A(THREAD,     "thread",     "thread")
// clang-format on

#define VIEW_AXIS_ID(id, name, header) VIEW_AXIS_##id,
typedef enum ViewAxis { VIEW_AXES(VIEW_AXIS_ID) _VIEW_AXIS_MAX } ViewAxis;

typedef struct View {
        ViewAxis axis;
        bool thread_normalize;
        bool cgroup_normalize;
        ViewTexts
                cgroup_flatten; /* globs for paths (glob.h), well-formed; the first that matches */
        bool has_sections;      /* named by the user; else the default ones */
        bool sections[_METRIC_SECTION_MAX];
        bool tables[_SECTION_MAX];
        bool has_metrics; /* else all of the sections */
        bool metrics[_METRIC_MAX];
        bool derived[_DERIVED_MAX];
        uint32_t limit; /* groups; 0: all */
        bool changed_only;
        bool self;
} View;

enum {
        VIEW_OK,
        VIEW_E_INVALID, /* the complaint is a whole sentence that names the word and the way out */
};

/* pcomm, normalised, all sections but taskstats-accounting, all metrics, the default limit. */
void view_init(View *view);

/*
 * Setters for command lines: comma-separated lists with blanks allowed around the entries, letters
 * of either case; empty entries, duplicates and unknown words refused. An entry of the metrics may
 * be a glob (* ? [...]) that matches at least one name. VIEW_OK, or VIEW_E_INVALID and @view
 * unchanged.
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

void view_write_json(JsonWriter *writer, const View *view);
/* @object: the View parameter, or NULL for the defaults. *ret is written on VIEW_OK only. */
_must_check_ int view_decode(json_object *object, View *ret,
                             char ret_complaint[static VIEW_COMPLAINT_BYTES]);

const char *view_axis_name(ViewAxis axis);
const char *view_axis_header(ViewAxis axis);
/*
 * The row of @id is wanted: its section is, and it is among the metrics named. Naming metrics
 * without naming sections wants them whatever their section.
 */
bool view_wants_metric(const View *view, MetricId id);
bool view_wants_derived(const View *view, DerivedId id);

const char *view_table_name(SectionId id);
/* The section is wanted, and there can be rows of it on this axis. */
bool view_wants_table(const View *view, SectionId id);
