/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Legend
 *
 * Explains the words beside every metric: its section, the rule that reduces it over a group, the
 * scheduling classes that have it and the kernel options it needs. Every word that the registry
 * uses has a term here.
 */

#include <stddef.h>

typedef struct LegendTerm {
        const char *name;
        const char *meaning; /* the rest of a sentence, without a full stop */
} LegendTerm;

typedef struct LegendList {
        const char *key;     /* in the answer of MetricList */
        const char *heading; /* for people */
        const LegendTerm *terms;
        size_t n_terms;
} LegendList;

enum { LEGEND_SECTIONS, LEGEND_RULES, LEGEND_CLASSES, LEGEND_GATES, _LEGEND_MAX };

extern const LegendList legend_lists[_LEGEND_MAX];
