/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/export/thread-object.h"

#include "snapshot/thread-column.h"
#include "kernel/text/cpu-list.h"

/* The members of the prior tool after the identity, in its order; the rollup is not a metric. */
#define KTSTR_SMAPS _METRIC_MAX
#define KTSTR_DELAYS(category)                                               \
        METRIC_##category##_delay_count, METRIC_##category##_delay_total_ns, \
                METRIC_##category##_delay_max_ns, METRIC_##category##_delay_min_ns

// clang-format off
static const unsigned char ktstr_members[] = {
        METRIC_policy, METRIC_nice, METRIC_cpu_affinity, METRIC_processor, METRIC_state,
        METRIC_ext_enabled, METRIC_run_time_ns, METRIC_wait_time_ns, METRIC_timeslices,
        METRIC_voluntary_csw, METRIC_nonvoluntary_csw, METRIC_nr_wakeups, METRIC_nr_wakeups_local,
        METRIC_nr_wakeups_remote, METRIC_nr_wakeups_sync, METRIC_nr_wakeups_migrate,
        METRIC_nr_wakeups_affine, METRIC_nr_wakeups_affine_attempts, METRIC_nr_migrations,
        METRIC_nr_forced_migrations, METRIC_nr_failed_migrations_affine,
        METRIC_nr_failed_migrations_running, METRIC_nr_failed_migrations_hot, METRIC_wait_sum,
        METRIC_wait_count, METRIC_wait_max, METRIC_voluntary_sleep_ns, METRIC_sleep_max,
        METRIC_block_sum, METRIC_block_max, METRIC_iowait_sum, METRIC_iowait_count, METRIC_exec_max,
        METRIC_slice_max, METRIC_allocated_bytes, METRIC_deallocated_bytes, METRIC_minflt,
        METRIC_majflt, METRIC_utime_clock_ticks, METRIC_stime_clock_ticks, METRIC_priority,
        METRIC_rt_priority, METRIC_core_forceidle_sum, METRIC_fair_slice_ns, METRIC_nr_threads,
        KTSTR_SMAPS, METRIC_rchar, METRIC_wchar, METRIC_syscr, METRIC_syscw, METRIC_read_bytes,
        METRIC_write_bytes, METRIC_cancelled_write_bytes,
        KTSTR_DELAYS(cpu), KTSTR_DELAYS(blkio), KTSTR_DELAYS(swapin), KTSTR_DELAYS(freepages),
        KTSTR_DELAYS(thrashing), KTSTR_DELAYS(compact), KTSTR_DELAYS(wpcopy), KTSTR_DELAYS(irq),
        METRIC_hiwater_rss_bytes, METRIC_hiwater_vm_bytes,
};
// clang-format on

/* Writes what the prior tool writes for a value that it could not read. */
static void ktstr_write_absent(JsonWriter *writer, MetricId id) {
        switch ((CellKind) thread_cell_kinds[id]) {
        case CELL_UNSIGNED:
        case CELL_U32:
        case CELL_I32:
        case CELL_NONE:
                json_write_u64(writer, 0);
                break;
        case CELL_BOOL:
                json_write_bool(writer, false);
                break;
        case CELL_CHARACTER:
                /* It sorts after every letter, so that any letter wins a tie in its readers. */
                json_write_text(writer, "~");
                break;
        case CELL_POLICY:
                json_write_text(writer, "");
                break;
        case CELL_CPUS:
                json_write_array(writer);
                json_write_end(writer);
                break;
        }
}

static void ktstr_write_smaps(JsonWriter *writer, const char *key, Span smaps_json) {
        json_write_key(writer, key);
        if (smaps_json.n > 0) {
                json_write_raw(writer, smaps_json);
                return;
        }
        json_write_object(writer);
        json_write_end(writer);
}

void thread_object_write_ktstr(JsonWriter *writer, const ThreadSample *sample, Span smaps_json) {
        unsigned long mask[CPU_LIST_MAX_WORDS];
        bool is_valid;
        size_t n;
        json_write_object(writer);
        json_write_member_u64(writer, "tid", (uint32_t) sample->tid);
        json_write_member_u64(writer, "tgid", (uint32_t) sample->tgid);
        json_write_member_name(writer, "pcomm", sample->pcomm);
        json_write_member_name(writer, "comm", sample->comm);
        json_write_member_name(writer, "cgroup", sample->cgroup);
        json_write_member_u64(writer, "start_time_clock_ticks", sample->start_ticks);
        for (size_t i = 0; i < ELEMENTSOF(ktstr_members); i++) {
                MetricId id = (MetricId) ktstr_members[i];

                if (ktstr_members[i] == KTSTR_SMAPS) {
                        /* Its name until version 0.9, and since. */
                        ktstr_write_smaps(writer, "smaps_rollup_kb", smaps_json);
                        ktstr_write_smaps(writer, "smaps_rollup_kib", smaps_json);
                        continue;
                }
                json_write_key(writer, metric_table[id].name);
                if (!thread_sample_has(sample, id)) {
                        ktstr_write_absent(writer, id);
                        continue;
                }
                if (thread_cell_kinds[id] != CELL_CPUS) {
                        thread_cell_write(writer, sample, _COLUMN_IDENTITY_MAX + (ThreadColumn) id);
                        continue;
                }
                /* The number of every CPU, [0,1,2,3,7]; an empty array for an invalid list. */
                json_write_array(writer);
                is_valid = cpu_list_parse(sample->cpus, mask, &n) == 0;
                for (size_t cpu = 0; is_valid && cpu < CPU_LIST_MAX_CPUS; cpu++)
                        if (mask[cpu / CPU_LIST_WORD_BITS] >> (cpu % CPU_LIST_WORD_BITS) & 1)
                                json_write_u64(writer, cpu);
                json_write_end(writer);
        }
        /* Kernels differ in which values of a family they have: one was measured with any. */
        for (unsigned i = 0; i < THREAD_FAMILIES; i++) {
                bool has = false;

                for (unsigned k = 0; k < thread_families[i].n_ids && !has; k++)
                        has = thread_sample_has(sample, thread_families[i].ids[k]);
                json_write_member_bool(writer, thread_families[i].key, has);
        }
        json_write_end(writer);
}

static void write_text_if(JsonWriter *writer, const char *key, const char *text) {
        if (text[0] != '\0')
                json_write_member_name(writer, key, span_of(text));
        else
                json_write_member_null(writer, key);
}

/* Writes the members that every line of a snapshot begins with. */
static void ndjson_begin(JsonWriter *writer, const char *kind, const Head *head) {
        json_write_object(writer);
        json_write_member_text(writer, "kind", kind);
        write_text_if(writer, "host", head->host_name);
        write_text_if(writer, "boot_id", head->boot_id);
        if (head->has_start_realtime)
                json_write_member_u64(writer, "captured_at_unix_ns", head->start_realtime_ns);
        else
                json_write_member_null(writer, "captured_at_unix_ns");
}

void thread_object_write_ndjson(JsonWriter *writer, const ThreadSample *sample, Span smaps_json,
                                const Head *head) {
        ndjson_begin(writer, "thread", head);
        for (ThreadColumn column = 0; column < _COLUMN_MAX; column++) {
                if (column == _COLUMN_IDENTITY_MAX + (ThreadColumn) METRIC_thread_count)
                        continue;
                json_write_key(writer, thread_column_name(column));
                if (column == COLUMN_smaps_rollup_kb && smaps_json.n > 0)
                        json_write_raw(writer, smaps_json);
                else
                        thread_cell_write(writer, sample, column);
        }
        json_write_end(writer);
}

void exited_object_write_ndjson(JsonWriter *writer, const ExitedRow *row, const Head *head) {
        ndjson_begin(writer, "dead", head);
        write_text_if(writer, "ledger_id", head->ledger_id);
        exited_row_write_members(writer, row);
        json_write_end(writer);
}
