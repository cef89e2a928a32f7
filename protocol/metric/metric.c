/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/metric.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/name.h"
#include "metric/choice.h"

METRICS(METRIC_PROVE)

#define METRIC_SHAPE_ENUM(rule, shape, folds) \
        enum { METRIC_SHAPE_OF_##rule = METRIC_SHAPE_##shape };
METRIC_RULES(METRIC_SHAPE_ENUM)

#define METRIC_TYPE_NAME_CASE(type, name, kind, unit) type * : name,
#define METRIC_TYPE_NAME_OF(type) \
        _Generic((type *) 0, METRIC_TYPES(METRIC_TYPE_NAME_CASE) struct MetricEnd * : 0)

#define METRIC_ROW(member, type, rule_, section_, class_, source, gates_, text) \
        [METRIC_##member] = {                                                   \
                .name = #member,                                                \
                .type_name = METRIC_TYPE_NAME_OF(type),                         \
                .rule_name = #rule_,                                            \
                .gates = (gates_),                                              \
                .description = (text),                                          \
                .kind = METRIC_KIND_OF(type),                                   \
                .unit = METRIC_UNIT_OF(type),                                   \
                .rule = METRIC_RULE_##rule_,                                    \
                .shape = (MetricShape) METRIC_SHAPE_OF_##rule_,                 \
                .section = METRIC_SECTION_##section_,                           \
                .class = METRIC_CLASS_##class_,                                 \
                .explained_by = SOURCE_##source,                                \
        },
const Metric metric_table[_METRIC_MAX] = { METRICS(METRIC_ROW) };

#define DERIVED_ROW(name_, unit_, section_, formula_, inputs_, text)  \
        [DERIVED_##name_] = {                                         \
                .name = #name_,                                       \
                .description = (text),                                \
                .unit = METRIC_UNIT_##unit_,                          \
                .section = METRIC_SECTION_##section_,                 \
                .formula = DERIVED_FORMULA_##formula_,                \
                .n_inputs = ELEMENTSOF(((const MetricId[]) inputs_)), \
                .inputs = inputs_,                                    \
        },
const Derived derived_table[_DERIVED_MAX] = { DERIVED(DERIVED_ROW) };

#define NAME_ENTRY(id, name, ...) name,
const char *const metric_section_names[_METRIC_SECTION_MAX] = { METRIC_SECTIONS(NAME_ENTRY) };
const char *const metric_class_names[_METRIC_CLASS_MAX] = { METRIC_CLASSES(NAME_ENTRY) };
const char *const metric_source_names[_SOURCE_MAX] = { SOURCES(NAME_ENTRY) };
const char *const backend_choice_names[_BACKEND_CHOICE_MAX] = { BACKEND_CHOICES(NAME_ENTRY) };
const char *const smaps_mode_names[_SMAPS_MODE_MAX] = { SMAPS_MODES(NAME_ENTRY) };
const char *const metric_unit_names[] = {
        [METRIC_UNIT_NONE] = "none",   [METRIC_UNIT_COUNT] = "count", [METRIC_UNIT_NS] = "ns",
        [METRIC_UNIT_BYTES] = "bytes", [METRIC_UNIT_TICKS] = "ticks", [METRIC_UNIT_RATIO] = "ratio",
};

MetricId metric_find(Span name) {
        unsigned id = 0;

        while (id < _METRIC_MAX && !span_is(name, metric_table[id].name))
                id++;
        return (MetricId) id;
}

DerivedId derived_find(Span name) {
        unsigned id = 0;

        while (id < _DERIVED_MAX && !span_is(name, derived_table[id].name))
                id++;
        return (DerivedId) id;
}

static char lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

#define EDIT 64 /* more than any tail: names longer than this are "far" */

/*
 * Levenshtein distance over one row, in EDITs; case does not count. People abbreviate words, so
 * leaving out the end of @b counts as one edit, plus a little for its length.
 */
static size_t edit_distance(Span a, Span b) {
        size_t row[EDIT], best;

        if (b.n >= ELEMENTSOF(row))
                return SIZE_MAX;
        for (size_t j = 0; j <= b.n; j++)
                row[j] = j;
        for (size_t i = 1; i <= a.n; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= b.n; j++) {
                        size_t above = row[j];
                        size_t gap = MIN_OF(row[j - 1], above) + 1;
                        size_t change = diagonal + (lower(a.bytes[i - 1]) != lower(b.bytes[j - 1]));

                        row[j] = MIN_OF(gap, change);
                        diagonal = above;
                }
        }
        best = row[b.n] * EDIT;
        for (size_t j = 0; j < b.n; j++)
                best = MIN_OF(best, (row[j] + 1) * EDIT + b.n - j);
        return best;
}

/*
 * A name is near if at most a third of the word plus one character was mistyped, but no more than
 * half of it. A suggestion that is farther away only confuses.
 */
static void consider(Span name, const char *candidate, size_t *best, const char **nearest) {
        size_t distance = edit_distance(name, span_of(candidate));

        if (distance < *best && distance / EDIT <= MIN_OF(name.n / 3 + 1, name.n / 2)) {
                *best = distance;
                *nearest = candidate;
        }
}

const char *name_nearest(Span name, const char *const *names, size_t n_names) {
        const char *nearest = NULL;
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < n_names; i++)
                consider(name, names[i], &best, &nearest);
        return nearest;
}

bool metric_is_momentary(MetricId id) {
        return id == METRIC_processor || id == METRIC_state || id == METRIC_other_wait_call;
}

const char *metric_nearest_name(Span name) {
        const char *nearest = NULL;
        size_t best = SIZE_MAX;

        for (unsigned id = 0; id < _METRIC_MAX; id++)
                consider(name, metric_table[id].name, &best, &nearest);
        for (unsigned id = 0; id < _DERIVED_MAX; id++)
                consider(name, derived_table[id].name, &best, &nearest);
        return nearest;
}
