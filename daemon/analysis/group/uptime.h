/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Uptime
 *
 * How old the threads of a group are compared with other groups. The start of the youngest thread
 * on the later side counts as "now"; a group's age is the mean age of its threads at that time. The
 * oldest group that is on both sides has 100 percent.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/group.h"

typedef struct Uptimes {
        uint64_t last_start; /* in ticks since boot, of all threads after; 0: none is known */
        uint64_t oldest;     /* in ticks, of groups on both sides; at least 1 */
} Uptimes;

void uptimes_init(Uptimes *uptimes, const GroupTable *table);
/* False when no start is known for its threads on the later side. */
bool uptimes_percent(const Uptimes *uptimes, const Group *group, double *ret);
