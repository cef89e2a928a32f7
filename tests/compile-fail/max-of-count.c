/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest of several counters says nothing about their group. */
#include "metric/metric-type.h"

#ifdef GOOD
#define RULE SumCount
#else
#define RULE MaxPeak
#endif

#define EXPAND_FOLDS(rule, type) METRIC_FOLDS(rule, type)
_Static_assert(EXPAND_FOLDS(RULE, MonotonicCount), "rule cannot fold a MonotonicCount");
