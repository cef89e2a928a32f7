/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/absence.h"

#include <stdio.h>

const char *absence_of_metric(const SourceTable *sources, MetricId id) {
        const Source *source;

        if (!sources)
                return "not recorded by this file";
        source = &sources->sources[metric_table[id].explained_by];
        if (source->state == SOURCE_STATE_OK)
                return "this kernel does not give it for these threads";
        return source->reason[0] != '\0' ? source->reason : source_state_name(source->state);
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
                                absence_of_metric(sources, (MetricId) row->id));
        else if (row->outcomes[index] == DERIVED_DENOMINATOR_ZERO)
                format_zero(&derived_table[row->id], ret_text);
        else
                (void) snprintf(ret_text, ABSENCE_BYTES, "no %s: %s",
                                metric_table[row->inputs[index]].name,
                                absence_of_metric(sources, row->inputs[index]));
        return ret_text;
}
