/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule that the table does not have. */
#include "metric/metric-type.h"

#ifdef GOOD
#define RULE SumBytes
#else
#define RULE Average
#endif

#define EXPAND_FOLDS(rule, type) METRIC_FOLDS(rule, type)
_Static_assert(EXPAND_FOLDS(RULE, Bytes), "rule cannot fold Bytes");
