/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * View
 *
 * How show and compare group, filter and order: the same struct is filled from a command line, sent
 * as the View object of the interface, and read by the analysis job. Names are checked against the
 * registry where they enter, so an id in here is always valid.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "view/section-list.h"
#include "view/glob.h"
#include "view/view-sort.h"
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

/*
 * A few texts from outside that a view carries along, in their order. Fixed size and without
 * pointers, so that a view can be copied.
 */
#define VIEW_TEXTS_MAX 64u
#define VIEW_TEXTS_BYTES 4096u

typedef struct ViewTexts {
        unsigned n;
        uint16_t ends[VIEW_TEXTS_MAX];
        char bytes[VIEW_TEXTS_BYTES];
} ViewTexts;

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

/* False, and nothing added, when there is no room. */
_must_check_ bool view_texts_add(ViewTexts *texts, Span text);
Span view_texts_get(const ViewTexts *texts, unsigned index);
