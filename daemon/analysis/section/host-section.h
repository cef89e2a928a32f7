/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostSection
 *
 * The totals of the host as lines, one a number: first what concerns the host as a whole, then each
 * CPU, disk or interface in the order of the later side, then those that only the earlier side has.
 */

#include "analysis/host/host-totals.h"
#include "analysis/section/count-map.h"

#define HOST_SECTION_SIDES 2

typedef struct HostLine {
        const char *item; /* borrowed from the totals; NULL: the host as a whole */
        HostKind kind;
        const char *key; /* borrowed from the totals, or a literal */
        const char *unit;
        Reading sides[HOST_SECTION_SIDES];
        bool there[HOST_SECTION_SIDES]; /* the part and the item are on that side */
        Reading delta;
        bool has_rate;
        double per_second;
} HostLine;

typedef struct HostLines {
        HostLine *lines; /* owned */
        size_t n, n_allocated;
        uint64_t n_cut; /* items beyond the limit */
} HostLines;

/*
 * Makes the lines of @part, which some side has; @totals outlive them. @same_boot: both sides are
 * of one boot, so that there are rates and counters of 32 bits may have passed their end. @limit:
 * how many items there may be, those that did most; 0: all. 0 or -ENOMEM.
 */
_must_check_ int host_lines_make(HostLines *lines, HostPartId part,
                                 const HostTotals totals[static HOST_SECTION_SIDES],
                                 unsigned n_sides, bool same_boot, uint64_t limit);
