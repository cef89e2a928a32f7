/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ThreadFamily
 *
 * The families of metrics of which format version 0 says, by a member of each thread, whether they
 * were measured. If they were not, the zeros of that family are no measurements. Earlier files do
 * not say it.
 */

#include "metric/metric.h"

#define THREAD_FAMILY_MAX_METRICS 40

typedef struct ThreadFamily {
        const char *key; /* of the member, true or false */
        MetricId ids[THREAD_FAMILY_MAX_METRICS];
        unsigned n_ids;
} ThreadFamily;

#define THREAD_FAMILIES 5
extern const ThreadFamily thread_families[THREAD_FAMILIES];
