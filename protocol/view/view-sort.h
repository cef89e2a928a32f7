/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ViewSort
 *
 * The order of groups and their rows. It is written as a single word,
 *
 *     weight, impact, delta, percent or name
 *
 * or as a list of metrics and derived values, "NAME[:asc|desc][,NAME...]", descending by default.
 * Modes have no number and cannot be used.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "view/view-words.h"
#include "json/json-writer.h"
#include "metric/metric.h"

#define VIEW_SORT_MAX_KEYS 16u

#define VIEW_ORDERS(O)        \
        O(WEIGHT, "weight")   \
        O(IMPACT, "impact")   \
        O(DELTA, "delta")     \
        O(PERCENT, "percent") \
        O(NAME, "name")

#define VIEW_ORDER_ID(id, name) VIEW_ORDER_##id,
typedef enum ViewOrder {
        VIEW_ORDERS(VIEW_ORDER_ID) _VIEW_ORDER_WORDS,
        VIEW_ORDER_METRICS = _VIEW_ORDER_WORDS,
} ViewOrder;

typedef struct ViewSortKey {
        bool is_derived;
        bool ascending;
        uint8_t id; /* MetricId or DerivedId */
} ViewSortKey;

typedef struct ViewSort {
        ViewOrder order;
        unsigned n_keys; /* of VIEW_ORDER_METRICS only */
        ViewSortKey keys[VIEW_SORT_MAX_KEYS];
} ViewSort;

_Static_assert(_METRIC_MAX <= UINT8_MAX && _DERIVED_MAX <= UINT8_MAX, "ids fit into a key");

/* VIEW_OK, or VIEW_E_INVALID and *ret as it was. */
_must_check_ int view_sort_parse(Span text, ViewSort *ret,
                                 char ret_complaint[static VIEW_COMPLAINT_BYTES]);
/* As one text that view_sort_parse() reads. */
void view_sort_write_json(JsonWriter *writer, const ViewSort *sort);
