/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * View
 *
 * The way show and compare group, filter and order. A command line fills the struct, the View
 * object of the interface carries it, and the analysis job obeys it. Names are checked against the
 * registry when they enter, so an id in here is always valid.
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
/*
 * The keys that threads are grouped by. The name stands in calls and rows; a user may type either.
 *
 *        id          name          as typed       header */
#define VIEW_AXES(A)                                                                               \
        A(PCOMM,      "pcomm",      "process",     "process")                                      \
        A(COMM,       "comm",       "thread-name", "thread")                                       \
        A(COMM_EXACT, "comm-exact", "comm-exact",  "thread")                                       \
        A(CGROUP,     "cgroup",     "cgroup",      "cgroup")                                       \
        A(ALL,        "all",        "all",         "cgroup / process / thread")                    \
        A(THREAD,     "thread",     "thread",      "thread")                                       \
        A(COMMAND,    "command",    "command",     "command")

/*
 * The subjects of views; the first reply says which one it is.
 *
 *        id         name */
#define VIEW_KINDS(K)                                                                              \
        K(STATE,     "state")     /* one snapshot */                                               \
        K(INTERVAL,  "interval")  /* what was done between two snapshots of one boot */            \
        K(TOTALS,    "totals")    /* two snapshots: what their threads did in their whole lives */ \
        K(INTERVALS, "intervals") /* two intervals, of any boots */                                \
        K(SETS,      "sets")      /* two sets of snapshots and intervals */

/*
 * Members that are true or false.
 *
 *        member            key in JSON        default  as the interface describes it */
#define VIEW_FLAGS(F)                                                                              \
        F(thread_normalize, "threadNormalize", true,                                               \
          "Turn runs of digits and the like in names into patterns.")                              \
        F(cgroup_normalize, "cgroupNormalize", true,                                               \
          "The same for paths of cgroups; instances of systemd's templates become {I}.")           \
        F(pairing,          "pairing",         true,                                               \
          "Compare by cgroup or all: find renamed cgroups by the threads in them.")                \
        F(window,           "window",          false,                                              \
          "The default by its name: the interval between two snapshots. NoWindow without one.")    \
        F(totals,           "totals",          false,                                              \
          "Compare two snapshots by the totals of lives, also those of one boot.")                 \
        F(overview,         "overview",        false,                                              \
          "First a list overview: one account of each group, those that matter most first.")       \
        F(rows,             "rows",            true,                                               \
          "The lists of groups with their rows of metrics.")                                       \
        F(spread,           "spread",          false,                                              \
          "Also how each sum is spread over the threads of a group.")                              \
        F(changed_only,     "changedOnly",     false,                                              \
          "Only rows that changed (compare) or have a value (show); of groups born in an "         \
          "interval what they did, and not their constants, unless metrics are named.")            \
        F(self,             "self",            false,                                              \
          "Also the threads of ctprof itself.")

/*
 * Members that are numbers below 2^32.
 *
 *        member  key in JSON  default             of what   what 0 means
 *        as the interface describes it */
#define VIEW_NUMBERS(N)                                                                            \
        N(limit,  "limit",     VIEW_DEFAULT_LIMIT, "groups", "0 for all",                          \
          "At most so many groups (default 40), 0 for all; counted after sorting. One-sided "      \
          "lists are cut to the same number, and each section to as many cgroups or processes, "   \
          "those that changed most.")

/*
 * Members of other forms; view-part.c has the functions of each.
 *
 *        id              key in JSON      type in the interface
 *        as the interface describes it */
#define VIEW_PARTS(P)                                                                              \
        P(axis,           "groupBy",       "string",                                               \
          "One of: @{axes,}; all stands for cgroup, process and thread together, process and "     \
          "thread-name are other names of pcomm and comm. Default: pcomm.")                        \
        P(cgroup_flatten, "cgroupFlatten", "[]string",                                             \
          "Globs for paths of cgroups: the first one that matches a whole path becomes its key. "  \
          "* ? [...] do not match \"/\"; ** is a whole component and matches any number of "       \
          "components, at the end one or more bytes.")                                             \
        P(sections,       "sections",      "[]string",                                             \
          "Any of: @{sections,}. Default: @{default-sections,}. "                                  \
          "Only groupBy cgroup and all give rows of: @{cgroup-sections,}.")                        \
        P(metrics,        "metrics",       "[]string",                                             \
          "Names of metrics and derived values, or of columns of the overview, which stand for "   \
          "all that they are made of: @{overview-columns,}. Default: all that the sections "       \
          "contain.")                                                                              \
        P(pairs,          "pairs",         "[](old: string, new: string)",                         \
          "Keys of cgroups to compare with each other, whatever threads are in them.")             \
        P(sort,           "sortBy",        "string",                                               \
          "One of: @{orders,}; or NAME[:asc|desc][,NAME...] of metrics, derived values and "       \
          "columns of the overview. Default: weight.")                                             \
        P(filter,         "filter",        "string",                                               \
          "Only groups whose whole key, or one whole part of it, matches this glob; * ? [...] "    \
          "match \"/\" too. Rows of sections are filtered by cgroup or process.")                  \
        P(threshold,      "threshold",     "float",                                                \
          "Compare: only rows that changed by more percent, including growth from zero, counters " \
          "that were reset and limits set or lifted.")
// clang-format on

#define VIEW_KIND_ID(id, name) VIEW_KIND_##id,
typedef enum ViewKind { VIEW_KINDS(VIEW_KIND_ID) _VIEW_KIND_MAX } ViewKind;

#define VIEW_AXIS_ID(id, ...) VIEW_AXIS_##id,
typedef enum ViewAxis { VIEW_AXES(VIEW_AXIS_ID) _VIEW_AXIS_MAX } ViewAxis;

/*
 * A few texts from outside, in their order. The struct has a fixed size and no pointers, so that a
 * view can be copied.
 */
#define VIEW_TEXTS_MAX 64u
#define VIEW_TEXTS_BYTES 4096u

typedef struct ViewTexts {
        unsigned n;
        uint16_t ends[VIEW_TEXTS_MAX];
        char bytes[VIEW_TEXTS_BYTES];
} ViewTexts;

#define VIEW_FLAG_MEMBER(member, ...) bool member;
#define VIEW_NUMBER_MEMBER(member, ...) uint32_t member;
typedef struct View {
        VIEW_FLAGS(VIEW_FLAG_MEMBER)
        VIEW_NUMBERS(VIEW_NUMBER_MEMBER)
        ViewAxis axis;
        ViewTexts cgroup_flatten; /* well-formed globs for paths (glob.h); the first match counts */
        bool has_sections;        /* named by the user; else the default ones */
        bool sections[_METRIC_SECTION_MAX];
        bool tables[_SECTION_MAX];
        bool has_metrics; /* else all of the sections */
        bool metrics[_METRIC_MAX];
        bool derived[_DERIVED_MAX];
        ViewTexts pairs; /* keys of cgroups that the user pairs: old, new, old, new... */
        ViewSort sort;
        char filter[GLOB_MAX_BYTES]; /* a well-formed glob for texts (glob.h), not terminated */
        size_t n_filter;             /* 0: none */
        bool has_threshold;
        double threshold; /* percent, finite and not negative; only compare has one */
} View;

/* A member of VIEW_NUMBERS. */
#define VIEW_NUMBER_ID(member, ...) VIEW_NUMBER_##member,
enum { VIEW_NUMBERS(VIEW_NUMBER_ID) _VIEW_NUMBER_MAX };

typedef struct ViewNumber {
        const char *key;
        size_t offset; /* of a uint32_t in the view */
        const char *noun;
        const char *zero;
} ViewNumber;

extern const ViewNumber view_numbers[_VIEW_NUMBER_MAX];

/* pcomm, normalised, all sections but taskstats-accounting, all metrics, the default limit. */
void view_init(View *view);

extern const char *const view_kind_names[_VIEW_KIND_MAX];
extern const char *const view_axis_names[_VIEW_AXIS_MAX];
extern const char *const view_axis_headers[_VIEW_AXIS_MAX];

/*
 * True if the section of @id is wanted and @id is among the metrics named. Metrics that are named
 * without sections are wanted from every section.
 */
bool view_wants_metric(const View *view, MetricId id);
bool view_wants_derived(const View *view, DerivedId id);

extern const char *const view_table_names[_SECTION_MAX];
extern const SectionAbout view_table_abouts[_SECTION_MAX];
extern const SectionForm view_table_forms[_SECTION_MAX];
/* True if the section is wanted and can have rows on this axis. */
bool view_wants_table(const View *view, SectionId id);
/* True for any text if there is no filter. */
bool view_filter_matches(const View *view, Span text);

/* False if there is no room; then nothing is added. */
_must_check_ bool view_texts_add(ViewTexts *texts, Span text);
Span view_texts_get(const ViewTexts *texts, unsigned index);
