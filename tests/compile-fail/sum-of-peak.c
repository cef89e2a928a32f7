/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A peak does not add up: the row that says so must not compile. */
#include "metric/metric-type.h"

#ifdef GOOD
#define RULE MaxPeak
#else
#define RULE SumNs
#endif

#define EXPAND_FOLDS(rule, type) METRIC_FOLDS(rule, type)
_Static_assert(EXPAND_FOLDS(RULE, PeakNs), "rule cannot fold a PeakNs");
