/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Metric
 *
 * The registry as tables of facts about each metric and each derived value. Rows are constant and
 * hold no state. An id is an index of this build; only names leave the process.
 */

#include <stdbool.h>
#include "base/span.h"
#include "metric/derived-list.h"
#include "metric/metric-list.h"
#include "metric/metric-type.h"
#include "metric/reason-list.h"
#include "metric/source-list.h"

/* The proof that a row must pass to compile. */
#define METRIC_PROVE(member, type, rule, section, class, source, gates, text) \
        _Static_assert(METRIC_FOLDS(rule, type),                              \
                       "metric " #member ": rule " #rule " cannot fold a " #type);

#define METRIC_ID(member, ...) METRIC_##member,
typedef enum MetricId { METRICS(METRIC_ID) _METRIC_MAX } MetricId;

#define DERIVED_ID(name, ...) DERIVED_##name,
typedef enum DerivedId { DERIVED(DERIVED_ID) _DERIVED_MAX } DerivedId;

/*        id                    name as users type it   shown by default  what it holds */
// clang-format off
#define METRIC_SECTIONS(S)                                                                         \
        S(PRIMARY,              "primary",              1,                                         \
          "what the scheduler, memory management and I/O accounting count for each thread")        \
        S(TASKSTATS_DELAY,      "taskstats-delay",      1,                                         \
          "what threads waited for, from taskstats, and high-water marks of memory")               \
        S(TASKSTATS_ACCOUNTING, "taskstats-accounting", 0,                                         \
          "more of taskstats that repeats other sections; shown only when it is named")            \
        S(WAITS,                "waits",                1,                                         \
          "what threads waited for by reason, counted while somebody measures")                    \
        S(DERIVED,              "derived",              1,                                         \
          "quotients and differences of the values of a group")

#define METRIC_CLASSES(C)                                                                          \
        C(ANY,         "-")                                                                        \
        C(CFS_ONLY,    "cfs-only")                                                                 \
        C(NON_EXT,     "non-ext")                                                                  \
        C(FAIR_POLICY, "fair-policy")
// clang-format on

#define METRIC_SECTION_ID(id, ...) METRIC_SECTION_##id,
typedef enum MetricSection { METRIC_SECTIONS(METRIC_SECTION_ID) _METRIC_SECTION_MAX } MetricSection;
#define METRIC_CLASS_ID(id, name) METRIC_CLASS_##id,
typedef enum MetricClass { METRIC_CLASSES(METRIC_CLASS_ID) _METRIC_CLASS_MAX } MetricClass;

typedef enum DerivedFormula {
        DERIVED_FORMULA_QUOTIENT,   /* a / b */
        DERIVED_FORMULA_SHARE,      /* a / (a + b) */
        DERIVED_FORMULA_DIFFERENCE, /* a - b, signed */
        DERIVED_FORMULA_SUM,        /* of all inputs */
        DERIVED_FORMULA_OFFCPU,     /* sum of all but the last two, plus the larger of these */
} DerivedFormula;

#define DERIVED_MAX_INPUTS 24

typedef struct Metric {
        const char *name;
        const char *type_name; /* as in data/metrics.tsv */
        const char *rule_name;
        const char *gates; /* kernel options, comma-separated; "" for none */
        const char *description;
        MetricKind kind;
        MetricUnit unit;
        MetricRule rule;
        MetricShape shape;
        MetricSection section;
        MetricClass class;
        SourceId explained_by; /* the state of that source says why it is absent */
} Metric;

typedef struct Derived {
        const char *name;
        const char *description;
        MetricUnit unit;
        MetricSection section;
        DerivedFormula formula;
        unsigned n_inputs;
        MetricId inputs[DERIVED_MAX_INPUTS];
} Derived;

extern const Metric metric_table[_METRIC_MAX];
extern const Derived derived_table[_DERIVED_MAX];

/*
 * It only grows while a thread lives, so it has a rate, and a fall is a reset. Not every sum is of
 * this kind: levels of memory are added up, too.
 */
static inline bool metric_is_cumulative(MetricId id) {
        return metric_table[id].kind == METRIC_KIND_COUNTER;
}

/*
 * Counters of what threads do. thread_count is a counter by its type, as the names of metrics are
 * dictated, but it says how many threads there are, which is a level.
 */
static inline bool metric_is_work(MetricId id) {
        return metric_is_cumulative(id) && id != METRIC_thread_count;
}

/* It adds counters up, so it has a rate as they have. */
static inline bool derived_is_sum(DerivedId id) {
        return derived_table[id].formula == DERIVED_FORMULA_SUM ||
               derived_table[id].formula == DERIVED_FORMULA_OFFCPU;
}

/* _METRIC_MAX, _DERIVED_MAX when there is none of that name. */
MetricId metric_find(Span name);
DerivedId derived_find(Span name);

/*
 * True when the metric says where or how a thread was found when it was read: on which CPU, in
 * which state. It differs from one reading to the next without anything having been done, so it has
 * no delta and no percentage, it is no change, and it takes no part in orders and thresholds.
 */
bool metric_is_momentary(MetricId id);

extern const char *const metric_unit_names[]; /* "none" "count" "ns" "bytes" "ticks" "ratio" */
extern const char *const metric_section_names[_METRIC_SECTION_MAX];
extern const char *const metric_class_names[_METRIC_CLASS_MAX];
extern const char *const metric_source_names[_SOURCE_MAX];

/*
 * The metric or derived name closest to a mistyped one (fewest edits, case aside), for "did you
 * mean"; NULL when nothing is near.
 */
const char *metric_nearest_name(Span name);
/* The same over any list of names. */
const char *name_nearest(Span name, const char *const *names, size_t n_names);
