/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Uptime
 *
 * How old the threads of a group are, next to those of other groups: of all threads after, the one
 * that began last is "now"; a group's age is how long before that its threads began on average,
 * and the oldest of the groups that are on both sides has 100 percent.
 */

#include <stdbool.h>
#include <stdint.h>
#include "analysis/group/group.h"

typedef struct Uptimes {
        uint64_t last_start; /* in ticks since boot, of any thread after; 0: none is known */
        uint64_t oldest;     /* in ticks, of the groups on both sides; at least 1 */
} Uptimes;

void uptimes_init(Uptimes *uptimes, const GroupTable *table);
/* False when it is not known of any of its threads after when they began. */
bool uptimes_percent(const Uptimes *uptimes, const Group *group, double *ret);
