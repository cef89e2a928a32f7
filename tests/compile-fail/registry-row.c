/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row of the registry under the registry's own proof: a peak summed. What is refused here is what
 * a wrong row in metric-list.h would be.
 */
#include "metric/metric.h"

#ifdef GOOD
#define ROW(M) M(extra_max, PeakNs, MaxPeak, PRIMARY, ANY, STAT, "", "a row")
#else
#define ROW(M) M(extra_max, PeakNs, SumNs, PRIMARY, ANY, STAT, "", "a row")
#endif

ROW(METRIC_PROVE)
