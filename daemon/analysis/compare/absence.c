/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/absence.h"

#include <stdio.h>

/* The reason when the source itself could be read. */
static const char *absence_despite_source(MetricId id) {
        const Metric *metric = &metric_table[id];

        if (id == METRIC_nr_threads)
                return "only the first thread of a process has it";
        if (id == METRIC_hiwater_rss_bytes || id == METRIC_hiwater_vm_bytes ||
            id == METRIC_acct_rss_mb_us || id == METRIC_acct_vm_mb_us)
                return "these threads have no memory of their own";
        if (metric->class == METRIC_CLASS_FAIR_POLICY)
                return "the scheduling policy of these threads has none";
        if (metric->section == METRIC_SECTION_TASKSTATS_DELAY &&
            (metric->shape == METRIC_SHAPE_MAX || metric->shape == METRIC_SHAPE_MIN))
                return "this kernel's taskstats does not keep it";
        return "this kernel does not give it for these threads";
}

const char *absence_of_metric(const SourceTable *sources, MetricId id) {
        const Source *source;

        if (!sources)
                return "not recorded by this file";
        source = &sources->sources[metric_table[id].explained_by];
        if (source->state == SOURCE_STATE_OK)
                return absence_despite_source(id);
        return source->reason[0] != '\0' ? source->reason : source_state_name(source->state);
}

/*
 * The reason that follows from threads that were born or ended; NULL when the source has to
 * explain.
 */
static const char *absence_in_window(const GroupWindow *window, unsigned side, MetricId id) {
        const LifeCounts *lives = &window->lives;
        const GroupWindowGaps *gaps = window->gaps;

        if (metric_table[id].shape != METRIC_SHAPE_SUM)
                return side == 0 && lives->survived + lives->gone == 0
                               ? "all of these threads started after the first snapshot"
                               : NULL;
        if (gaps && gaps->only[1 - side][id] > 0)
                return NULL; /* this side lacks it: the source explains */
        if (gaps && gaps->only[side][id] > 0)
                return "the other snapshot lacks it for these threads";
        if (side == 0 && window->gone && aggregate_has(window->gone, id))
                return "only threads that have ended have it";
        return NULL;
}

static const char *explain(const Row *row, unsigned index, const SourceTable *sources,
                           MetricId id) {
        const char *text = row->window ? absence_in_window(row->window, index, id) : NULL;

        return text ? text : absence_of_metric(sources, id);
}

static void format_zero(const Derived *derived, char *ret_text) {
        const char *first = metric_table[derived->inputs[0]].name;
        const char *second = metric_table[derived->inputs[1]].name;

        if (derived->formula == DERIVED_FORMULA_SHARE)
                (void) snprintf(ret_text, ABSENCE_BYTES, "%s and %s are 0", first, second);
        else
                (void) snprintf(ret_text, ABSENCE_BYTES, "%s is 0", second);
}

const char *absence_of_value(const Row *row, unsigned index, const SourceTable *sources,
                             char ret_text[static ABSENCE_BYTES]) {
        if (!row->is_derived)
                (void) snprintf(ret_text, ABSENCE_BYTES, "%s",
                                explain(row, index, sources, (MetricId) row->id));
        else if (row->outcomes[index] == DERIVED_DENOMINATOR_ZERO)
                format_zero(&derived_table[row->id], ret_text);
        else
                (void) snprintf(ret_text, ABSENCE_BYTES, "no %s: %s",
                                metric_table[row->inputs[index]].name,
                                explain(row, index, sources, row->inputs[index]));
        return ret_text;
}
