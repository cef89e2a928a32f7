/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/thread-column.h"

#include <assert.h>

#define IDENTITY_NAME(name) #name,
static const char *const identity_names[] = { THREAD_IDENTITY_COLUMNS(IDENTITY_NAME) };

/* By the type of the metric. A new type does not compile before it is given a cell here. */
// clang-format off
#define CELL_OF_MonotonicCount    CELL_UNSIGNED
#define CELL_OF_MonotonicNs       CELL_UNSIGNED
#define CELL_OF_Bytes             CELL_UNSIGNED
#define CELL_OF_ClockTicks        CELL_UNSIGNED
#define CELL_OF_PeakNs            CELL_UNSIGNED
#define CELL_OF_PeakBytes         CELL_UNSIGNED
#define CELL_OF_FloorNs           CELL_UNSIGNED
#define CELL_OF_GaugeCount        CELL_UNSIGNED
#define CELL_OF_GaugeNs           CELL_UNSIGNED
#define CELL_OF_GaugeBytes        CELL_UNSIGNED
#define CELL_OF_OrdinalI32        CELL_I32
#define CELL_OF_OrdinalU32        CELL_U32
#define CELL_OF_CategoricalString CELL_POLICY
#define CELL_OF_CategoricalChar   CELL_CHARACTER
#define CELL_OF_CategoricalBool   CELL_BOOL
#define CELL_OF_CpuSet            CELL_CPUS
// clang-format on

#define CELL_KIND(member, type, ...) \
        [METRIC_##member] = METRIC_##member == METRIC_thread_count ? CELL_NONE : CELL_OF_##type,
const unsigned char thread_cell_kinds[_METRIC_MAX] = { METRICS(CELL_KIND) };

const char *thread_column_name(ThreadColumn column) {
        assert(column < _COLUMN_MAX);
        if (column < _COLUMN_IDENTITY_MAX)
                return identity_names[column];
        return metric_table[thread_column_metric(column)].name;
}

ThreadColumn thread_column_find(Span name) {
        MetricId id;

        for (ThreadColumn column = 0; column < _COLUMN_IDENTITY_MAX; column++)
                if (span_is(name, identity_names[column]))
                        return column;
        id = metric_find(name);
        if (id == _METRIC_MAX || thread_cell_kinds[id] == CELL_NONE)
                return _COLUMN_MAX;
        return thread_column_of(id);
}

void thread_columns_write(JsonWriter *writer) {
        for (ThreadColumn column = 0; column < _COLUMN_MAX; column++)
                if (column != thread_column_of(METRIC_thread_count))
                        json_write_text(writer, thread_column_name(column));
}
