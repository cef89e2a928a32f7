/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/thread-column.h"

#include <assert.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"
#include "metric/command.h"

// clang-format off
#define DELAYS(category)                                                                           \
        METRIC_##category##_delay_count, METRIC_##category##_delay_total_ns,                       \
        METRIC_##category##_delay_max_ns, METRIC_##category##_delay_min_ns
#define BLOCK_DELAYS                                                                               \
        DELAYS(blkio), DELAYS(swapin), DELAYS(freepages), DELAYS(thrashing), DELAYS(compact),      \
        DELAYS(wpcopy), DELAYS(irq)
#define XACCT METRIC_hiwater_rss_bytes, METRIC_hiwater_vm_bytes

const ThreadFamily thread_families[THREAD_FAMILIES] = {
#define FAMILY(key, ...)                                                                           \
        { key, { __VA_ARGS__ }, ELEMENTSOF(((const MetricId[]) { __VA_ARGS__ })) }
        FAMILY("taskstats_measured", DELAYS(cpu), BLOCK_DELAYS, XACCT),
        FAMILY("cpu_delay_active",   DELAYS(cpu)),
        FAMILY("delay_block_active", BLOCK_DELAYS),
        FAMILY("xacct_active",       XACCT),
        FAMILY("jemalloc_measured",  METRIC_allocated_bytes, METRIC_deallocated_bytes),
};
// clang-format on

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
        return metric_table[column - _COLUMN_IDENTITY_MAX].name;
}

ThreadColumn thread_column_find(Span name) {
        MetricId id;

        for (ThreadColumn column = 0; column < _COLUMN_IDENTITY_MAX; column++)
                if (span_is(name, identity_names[column]))
                        return column;
        id = metric_find(name);
        if (id == _METRIC_MAX || thread_cell_kinds[id] == CELL_NONE)
                return _COLUMN_MAX;
        return _COLUMN_IDENTITY_MAX + (ThreadColumn) id;
}

void thread_columns_write(JsonWriter *writer) {
        for (ThreadColumn column = 0; column < _COLUMN_MAX; column++)
                if (column != _COLUMN_IDENTITY_MAX + (ThreadColumn) METRIC_thread_count)
                        json_write_text(writer, thread_column_name(column));
}

/* cells */

static void write_name_if(JsonWriter *writer, Span name) {
        if (name.bytes)
                json_write_name(writer, name);
        else
                json_write_null(writer);
}

/* An array of its arguments. */
static void write_command(JsonWriter *writer, Span command) {
        Span argument;

        if (!command.bytes) {
                json_write_null(writer);
                return;
        }
        json_write_array(writer);
        while (command_next(&command, &argument))
                json_write_name(writer, argument);
        json_write_end(writer);
}

static void write_metric(JsonWriter *writer, const ThreadSample *sample, MetricId id) {
        char policy[POLICY_NAME_CHARS], character;
        uint64_t value;

        if (!thread_sample_has(sample, id)) {
                json_write_null(writer);
                return;
        }
        value = thread_sample_get(sample, id);
        switch ((CellKind) thread_cell_kinds[id]) {
        case CELL_NONE:
                break;
        case CELL_UNSIGNED:
        case CELL_U32:
                json_write_u64(writer, value);
                break;
        case CELL_I32:
                json_write_i64(writer, (int64_t) value);
                break;
        case CELL_BOOL:
                json_write_bool(writer, value != 0);
                break;
        case CELL_CHARACTER:
                character = (char) value;
                json_write_name(writer, (Span){ &character, 1 });
                break;
        case CELL_POLICY:
                json_write_span(writer, (Span){ policy, policy_format((int64_t) value, policy) });
                break;
        case CELL_CPUS:
                write_name_if(writer, sample->cpus);
                break;
        }
}

void thread_cell_write(JsonWriter *writer, const ThreadSample *sample, ThreadColumn column) {
        uint64_t value = 0;
        bool known = true;

        switch (column) {
        case COLUMN_tid:
                json_write_i64(writer, sample->tid);
                return;
        case COLUMN_tgid:
                json_write_i64(writer, sample->tgid);
                return;
        case COLUMN_ppid:
                known = sample->has_ppid;
                value = (uint64_t) sample->ppid;
                break;
        case COLUMN_uid:
                known = sample->has_owner;
                value = sample->uid;
                break;
        case COLUMN_gid:
                known = sample->has_owner;
                value = sample->gid;
                break;
        case COLUMN_pcomm:
                write_name_if(writer, sample->pcomm);
                return;
        case COLUMN_comm:
                write_name_if(writer, sample->comm);
                return;
        case COLUMN_cgroup:
                write_name_if(writer, sample->cgroup);
                return;
        case COLUMN_start_time_clock_ticks:
                value = sample->start_ticks;
                break;
        case COLUMN_kthread:
                if (sample->has_kthread)
                        json_write_bool(writer, sample->kthread);
                else
                        json_write_null(writer);
                return;
        case COLUMN_self:
                json_write_bool(writer, sample->self);
                return;
        case COLUMN_exe_dev:
                known = sample->has_exe;
                value = sample->exe_dev;
                break;
        case COLUMN_exe_inode:
                known = sample->has_exe;
                value = sample->exe_inode;
                break;
        case COLUMN_smaps_rollup_kb:
                json_write_raw(writer,
                               sample->smaps_unasked ? SPAN_LITERAL("{}") : SPAN_LITERAL("null"));
                return;
        case COLUMN_command:
                write_command(writer, sample->command);
                return;
        case COLUMN_command_line:
                write_command(writer, sample->command_line);
                return;
        default:
                write_metric(writer, sample, (MetricId) (column - _COLUMN_IDENTITY_MAX));
                return;
        }
        if (known)
                json_write_u64(writer, value);
        else
                json_write_null(writer);
}

/* rows */

#define PLAIN_CHARS ((size_t) NUMBER_U64_CHARS + 1) /* with the comma */
_Static_assert(NUMBER_I64_CHARS <= NUMBER_U64_CHARS, "there is room for every kind of number");

int thread_row_encode(Buffer *buffer, const ThreadSample *sample, Span smaps) {
        size_t n_before = buffer->n;
        char *at = NULL; /* the end of a run of plain cells */
        JsonWriter writer;
        int r;

        json_writer_init(&writer, buffer);
        json_write_array(&writer);
        for (ThreadColumn column = 0; column < _COLUMN_IDENTITY_MAX; column++)
                if (column == COLUMN_smaps_rollup_kb && smaps.n > 0)
                        json_write_raw(&writer, smaps);
                else
                        thread_cell_write(&writer, sample, column);
        for (MetricId id = 0; id < _METRIC_MAX; id++) {
                CellKind kind = (CellKind) thread_cell_kinds[id];
                Span word = SPAN_LITERAL("null");
                uint64_t value = 0;
                bool is_known;

                if (kind != CELL_UNSIGNED && kind != CELL_U32 && kind != CELL_I32 &&
                    kind != CELL_BOOL) {
                        if (at)
                                buffer->n = (size_t) (at - buffer->bytes);
                        at = NULL;
                        if (kind != CELL_NONE)
                                write_metric(&writer, sample, id);
                        continue;
                }
                if (!at)
                        at = json_write_begin_values(&writer, (_METRIC_MAX - id) * PLAIN_CHARS);
                if (!at)
                        continue;
                *at++ = ',';
                is_known = thread_sample_has(sample, id);
                if (is_known)
                        value = thread_sample_get(sample, id);
                if (is_known && kind == CELL_I32)
                        at += number_format_i64((int64_t) value, at);
                else if (is_known && kind != CELL_BOOL)
                        at += number_format_u64(value, at);
                else {
                        if (is_known)
                                word = value != 0 ? SPAN_LITERAL("true") : SPAN_LITERAL("false");
                        memcpy(at, word.bytes, word.n);
                        at += word.n;
                }
        }
        if (at)
                buffer->n = (size_t) (at - buffer->bytes);
        json_write_end(&writer);

        r = json_writer_finish(&writer);
        if (r < 0)
                buffer_truncate(buffer, n_before);
        return r;
}
