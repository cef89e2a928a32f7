/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A member that is a bare integer has no kind, so no rule can be right for it. */
#include "metric/metric-type.h"

#ifdef GOOD
#define TYPE MonotonicNs
#else
#define TYPE uint64_t
#endif

enum { KIND = METRIC_KIND_OF(TYPE) };
