/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Metric types
 *
 * The vocabulary of the registry, edited when a new kind of number appears. Kind and unit of a
 * metric are a C type of their own, so that a rule is checked against it when the program is
 * compiled and two metrics cannot be added up by accident.
 */

#include <stdint.h>

typedef enum MetricKind {
        METRIC_KIND_COUNTER, /* grows from birth to death: threads may be added up */
        METRIC_KIND_PEAK,    /* high-water mark: a group peaks as high as its highest member */
        METRIC_KIND_FLOOR,   /* low-water mark, 0 for "no event yet" */
        METRIC_KIND_GAUGE,   /* level at one instant; may be added up, but never over time */
        METRIC_KIND_ORDINAL, /* a place on a scale: a group spans a range */
        METRIC_KIND_WORD,    /* one of a set of words */
        METRIC_KIND_CPUS,    /* a set of CPUs; the list itself stands beside the number */
} MetricKind;

typedef enum MetricUnit {
        METRIC_UNIT_NONE, /* never scaled */
        METRIC_UNIT_COUNT,
        METRIC_UNIT_NS,
        METRIC_UNIT_BYTES,
        METRIC_UNIT_TICKS, /* of USER_HZ */
        METRIC_UNIT_RATIO, /* derived values only */
} MetricUnit;

/*
 * The way an aggregate treats a member; several rules share a shape and differ in what they accept.
 */
typedef enum MetricShape {
        METRIC_SHAPE_SUM,
        METRIC_SHAPE_MAX,
        METRIC_SHAPE_MIN, /* smallest non-zero; zero only when nothing else was seen */
        METRIC_SHAPE_RANGE,
        METRIC_SHAPE_MODE,
        METRIC_SHAPE_AFFINITY,
} MetricShape;

// clang-format off
/*        type               public name           kind     unit      a value's 64 bits */
#define METRIC_TYPES(T)                                                                            \
        T(MonotonicCount,    "MonotonicCount",     COUNTER, COUNT) /* unsigned */                  \
        T(MonotonicNs,       "MonotonicNs",        COUNTER, NS)    /* unsigned */                  \
        T(Bytes,             "Bytes",              COUNTER, BYTES) /* unsigned */                  \
        T(ClockTicks,        "ClockTicks",         COUNTER, TICKS) /* unsigned */                  \
        T(PeakNs,            "PeakNs",             PEAK,    NS)    /* unsigned */                  \
        T(PeakBytes,         "PeakBytes",          PEAK,    BYTES) /* unsigned */                  \
        T(FloorNs,           "FloorNs",            FLOOR,   NS)    /* unsigned, 0: no event */     \
        T(GaugeCount,        "GaugeCount",         GAUGE,   COUNT) /* unsigned */                  \
        T(GaugeNs,           "GaugeNs",            GAUGE,   NS)    /* unsigned */                  \
        T(GaugeBytes,        "GaugeBytes",         GAUGE,   BYTES) /* unsigned */                  \
        T(OrdinalI32,        "OrdinalI32",         ORDINAL, NONE)  /* int64_t */                   \
        T(OrdinalU32,        "OrdinalU32",         ORDINAL, NONE)  /* unsigned */                  \
        T(CategoricalString, "CategoricalString",  WORD,    NONE)  /* policy number, int64_t */    \
        T(CategoricalChar,   "char",               WORD,    NONE)  /* an ASCII character */        \
        T(CategoricalBool,   "bool",               WORD,    NONE)  /* 0 or 1 */                    \
        T(CpuSet,            "CpuSet",             CPUS,    NONE)  /* how many CPUs */

/*        rule               shape     folds a type of this kind and unit */
#define METRIC_RULES(R)                                                                            \
        R(SumCount,          SUM,      MonotonicCount)                                             \
        R(SumNs,             SUM,      MonotonicNs)                                                \
        R(SumBytes,          SUM,      Bytes)                                                      \
        R(SumTicks,          SUM,      ClockTicks)                                                 \
        R(MaxPeak,           MAX,      PeakNs)                                                     \
        R(MaxPeakBytes,      MAX,      PeakBytes)                                                  \
        R(MinFloor,          MIN,      FloorNs)                                                    \
        R(MaxGaugeCount,     MAX,      GaugeCount)                                                 \
        R(MaxGaugeNs,        MAX,      GaugeNs)                                                    \
        R(SumGaugeBytes,     SUM,      GaugeBytes)                                                 \
        R(RangeI32,          RANGE,    OrdinalI32)                                                 \
        R(RangeU32,          RANGE,    OrdinalU32)                                                 \
        R(Mode,              MODE,     CategoricalString)                                          \
        R(ModeChar,          MODE,     CategoricalChar)                                            \
        R(ModeBool,          MODE,     CategoricalBool)                                            \
        R(Affinity,          AFFINITY, CpuSet)
// clang-format on

#define METRIC_DEFINE_TYPE(type, name, kind, unit) \
        typedef struct type {                      \
                uint64_t value;                    \
        } type;
METRIC_TYPES(METRIC_DEFINE_TYPE)

#define METRIC_RULE_ID(rule, shape, folds) METRIC_RULE_##rule,
typedef enum MetricRule { METRIC_RULES(METRIC_RULE_ID) _METRIC_RULE_MAX } MetricRule;

/* 1 when @rule folds @type, 0 when not; a rule that is not in the table does not compile. */
#define METRIC_FOLDS(rule, type) _Generic((type *) 0, METRIC_FOLDED_BY_##rule * : 1, default : 0)

/* One alias per rule, naming what it folds. */
#define METRIC_RULE_ALIAS(rule, shape, folds) typedef folds METRIC_FOLDED_BY_##rule;
METRIC_RULES(METRIC_RULE_ALIAS)

/* No default association: what is not a metric type does not compile. */
#define METRIC_KIND_CASE(type, name, kind, unit) type * : METRIC_KIND_##kind,
#define METRIC_UNIT_CASE(type, name, kind, unit) type * : METRIC_UNIT_##unit,
#define METRIC_KIND_OF(type) \
        _Generic((type *) 0, METRIC_TYPES(METRIC_KIND_CASE) struct MetricEnd * : 0)
#define METRIC_UNIT_OF(type) \
        _Generic((type *) 0, METRIC_TYPES(METRIC_UNIT_CASE) struct MetricEnd * : 0)
