/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ViewSort
 *
 * The order of groups and their rows. It is written as a single word,
 *
 *     weight, impact, delta, percent or name
 *
 * or as a list of metrics, derived values and columns of the overview, "NAME[:asc|desc][,NAME...]",
 * descending by default. Modes have no number and cannot be used.
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

/*
 * Columns of the overview, as they are called in an order and in a list of metrics: the header in
 * small letters, of which "/s" may be left out. Their figures are those of accounts
 * (analysis/account); they are made of these metrics, of the FIRST that is known, or of the SUM.
 *
 *        id     name        made of  metrics */
// clang-format off
#define VIEW_COLUMNS(C)                                                                            \
        C(CPU,    "cpu",      FIRST, METRIC_run_time_ns)                                           \
        C(WAIT,   "wait",     FIRST, METRIC_wait_time_ns)                                          \
        C(IO,     "io",       FIRST, METRIC_storage_wait_ns, METRIC_iowait_sum,                    \
                                     METRIC_blkio_delay_total_ns)                                  \
        C(LOCK,   "lock",     FIRST, METRIC_lock_wait_ns)                                          \
        C(BLOCKED, "blocked", FIRST, METRIC_uninterruptible_ns)                                    \
        C(SWITCH, "switch",   SUM,   METRIC_voluntary_csw, METRIC_nonvoluntary_csw)                \
        C(READ,   "read",     FIRST, METRIC_read_bytes)                                            \
        C(WRITE,  "write",    FIRST, METRIC_write_bytes, METRIC_wchar)                             \
        C(MAJFLT, "majflt",   FIRST, METRIC_majflt)                                                \
        C(RSS,    "rss",      SUM,   METRIC_rss_anon_bytes, METRIC_rss_shmem_bytes)                \
        C(PEAK,   "peak-rss", FIRST, METRIC_hiwater_rss_bytes)
// clang-format on
#define VIEW_COLUMN_ID(id, ...) VIEW_COLUMN_##id,
typedef enum ViewColumn { VIEW_COLUMNS(VIEW_COLUMN_ID) _VIEW_COLUMN_MAX } ViewColumn;

#define VIEW_COLUMN_MAX_METRICS 4u

typedef struct ViewColumnRow {
        const char *name;
        bool is_sum; /* else the first metric that is known */
        unsigned n_metrics;
        MetricId metrics[VIEW_COLUMN_MAX_METRICS];
} ViewColumnRow;

extern const ViewColumnRow view_columns[_VIEW_COLUMN_MAX];

/* _VIEW_COLUMN_MAX for any other text. */
ViewColumn view_column_find(Span name);
static inline bool view_column_has(ViewColumn column, MetricId metric) {
        for (unsigned i = 0; i < view_columns[column].n_metrics; i++)
                if (view_columns[column].metrics[i] == metric)
                        return true;
        return false;
}

typedef enum ViewKeyKind { VIEW_KEY_METRIC, VIEW_KEY_DERIVED, VIEW_KEY_COLUMN } ViewKeyKind;

typedef struct ViewSortKey {
        ViewKeyKind kind;
        bool ascending;
        uint8_t id; /* MetricId, DerivedId or ViewColumn */
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
