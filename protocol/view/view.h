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
#include "view/section-list.h"
#include "view/glob.h"
#include "view/view-sort.h"
#include "view/view-texts.h"
#include "view/view-words.h"
#include "json/json-writer.h"
#include "metric/metric.h"

#define VIEW_DEFAULT_LIMIT 40

// clang-format off
#define VIEW_AXES(A)                                                                               \
        A(PCOMM,      "pcomm",      "process")                                                     \
        A(COMM,       "comm",       "thread")                                                      \
        A(COMM_EXACT, "comm-exact", "thread")                                                      \
        A(CGROUP,     "cgroup",     "cgroup")                                                      \
        A(ALL,        "all",        "cgroup / process / thread")                                   \
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
        bool pairing;    /* find cgroups that were renamed, on the axes cgroup and all */
        ViewTexts pairs; /* keys of cgroups that are one by decree: old, new, old, new... */
        bool window;     /* compare lives of threads: what was done between the two */
        bool spread;     /* also how each sum is spread over the threads */
        uint32_t limit;  /* groups; 0: all */
        ViewSort sort;
        char filter[GLOB_MAX_BYTES]; /* a well-formed glob for texts (glob.h), not terminated */
        size_t n_filter;             /* 0: none */
        bool has_threshold;
        double threshold; /* percent, finite and not negative; only compare has one */
        bool changed_only;
        bool self;
} View;

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
/* Any text does when there is no filter. */
bool view_filter_matches(const View *view, Span text);
