/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotRecord
 *
 * All that a snapshot document says, kept: its threads, cgroups and the rest, in the order in which
 * the reader told them, and how reading ended. Two records are compared by value, a document can be
 * written from one.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "fuzz-cuts.h"
#include "fuzz.h"
#include "snapshot/snapshot-reader.h"
#include "snapshot/exited-row.h"
#include "snapshot/snapshot-writer.h"
#include "snapshot/thread-column.h"

#define RECORD_MAX_THREADS 64
#define RECORD_MAX_CGROUPS 64
#define RECORD_MAX_EXITED 64
#define RECORD_MAX_MOVED 64
#define RECORD_MAX_COPIES (8 * (RECORD_MAX_THREADS + RECORD_MAX_EXITED + RECORD_MAX_MOVED))

typedef struct RecordCgroup {
        Span path, stats;
} RecordCgroup;

typedef struct SnapshotRecord {
        ThreadSample samples[RECORD_MAX_THREADS];
        Span smaps[RECORD_MAX_THREADS];
        size_t n_threads; /* kept; further ones are only counted by the reader */
        bool has_ledger;
        LedgerSummary ledger;
        ExitedRow exited[RECORD_MAX_EXITED];
        size_t n_exited, n_all_exited; /* kept, and told */
        ThreadSample moved[RECORD_MAX_MOVED];
        size_t n_moved, n_all_moved; /* likewise */
        RecordCgroup cgroups[RECORD_MAX_CGROUPS];
        size_t n_cgroups;
        Span host, host_parts[_HOST_PART_MAX], psi, sched_ext, probe_summary;
        bool has_sources;
        SourceTable sources;

        int result; /* of snapshot_reader_run() */
        uint32_t format_version;
        uint64_t captured_ns, n_all_threads, n_all_processes, offset;
        char complaint[512];

        char *copies[RECORD_MAX_COPIES]; /* owned: what the spans are of */
        size_t n_copies;
} SnapshotRecord;

static inline void snapshot_record_free(SnapshotRecord *record) {
        for (size_t i = 0; i < record->n_copies; i++)
                free(record->copies[i]);
        free(record);
}

static inline Span record_copy(SnapshotRecord *record, Span span) {
        char *copy;

        if (!span.bytes)
                return span;
        fuzz_expect(record->n_copies < RECORD_MAX_COPIES, "room for copies");
        copy = malloc(span.n + 1);
        fuzz_expect(copy, "memory");
        if (span.n > 0)
                memcpy(copy, span.bytes, span.n);
        copy[span.n] = '\0';
        record->copies[record->n_copies++] = copy;
        return (Span){ copy, span.n };
}

static inline void record_keep(SnapshotRecord *record, const ThreadSample *sample,
                               ThreadSample *copy) {
        *copy = *sample;
        copy->pcomm = record_copy(record, sample->pcomm);
        copy->comm = record_copy(record, sample->comm);
        copy->cgroup = record_copy(record, sample->cgroup);
        copy->cpus = record_copy(record, sample->cpus);
}

static inline int record_on_thread(void *userdata, const ThreadSample *sample, Span smaps) {
        SnapshotRecord *record = userdata;

        if (record->n_threads == RECORD_MAX_THREADS)
                return 0;
        record_keep(record, sample, &record->samples[record->n_threads]);
        record->smaps[record->n_threads++] = record_copy(record, smaps);
        return 0;
}

static inline int record_on_ledger(void *userdata, const LedgerSummary *ledger) {
        SnapshotRecord *record = userdata;

        fuzz_expect(!record->has_ledger, "the ledger is handed out once");
        record->has_ledger = true;
        record->ledger = *ledger;
        return 0;
}

static inline int record_on_exited(void *userdata, const ExitedRow *row) {
        SnapshotRecord *record = userdata;
        ExitedRow *copy;

        fuzz_expect(record->has_ledger, "the dead come after their ledger");
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                fuzz_expect(exited_row_carries((MetricId) id) ||
                                    !thread_sample_has(&row->sample, (MetricId) id),
                            "the dead have nothing of the living");
        record->n_all_exited++;
        if (record->n_exited == RECORD_MAX_EXITED)
                return 0;
        copy = &record->exited[record->n_exited++];
        *copy = *row;
        record_keep(record, &row->sample, &copy->sample);
        return 0;
}

static inline int record_on_moved(void *userdata, const ThreadSample *ended) {
        SnapshotRecord *record = userdata;

        fuzz_expect(ended->tid > 0 && ended->tgid > 0, "each that ended has a number");
        for (unsigned id = 0; id < _METRIC_MAX; id++)
                fuzz_expect(!thread_sample_has(ended, (MetricId) id), "and no metric");
        record->n_all_moved++;
        if (record->n_moved < RECORD_MAX_MOVED)
                record_keep(record, ended, &record->moved[record->n_moved++]);
        return 0;
}

static inline int record_on_cgroup(void *userdata, Span path, Span stats) {
        SnapshotRecord *record = userdata;

        if (record->n_cgroups < RECORD_MAX_CGROUPS)
                record->cgroups[record->n_cgroups++] = (RecordCgroup){
                        record_copy(record, path.bytes ? path : SPAN_LITERAL("")),
                        record_copy(record, stats),
                };
        return 0;
}

static inline int record_on_value(void *userdata, SnapshotSection section, Span json) {
        SnapshotRecord *record = userdata;
        Span *place;

        switch ((unsigned) section) {
        case SNAPSHOT_SECTION_HOST:
                place = &record->host;
                break;
        case SNAPSHOT_SECTION_PRESSURE:
                place = &record->psi;
                break;
        case SNAPSHOT_SECTION_SCHED_EXT:
                place = &record->sched_ext;
                break;
        case SNAPSHOT_SECTION_PROBE_SUMMARY:
                place = &record->probe_summary;
                break;
        default:
                place = &record->host_parts[section - SNAPSHOT_SECTION_HOST_CPU];
                break;
        }
        fuzz_expect(!place->bytes, "nothing is handed out twice");
        *place = record_copy(record, json);
        return 0;
}

static inline int record_on_sources(void *userdata, const SourceTable *sources) {
        SnapshotRecord *record = userdata;

        fuzz_expect(!record->has_sources, "sources are handed out once");
        record->has_sources = true;
        record->sources = *sources;
        return 0;
}

static inline SnapshotRecord *snapshot_record_read(FuzzPieces pieces) {
        static const SnapshotVisitor visitor = {
                .on_thread = record_on_thread,
                .on_ledger = record_on_ledger,
                .on_exited = record_on_exited,
                .on_moved = record_on_moved,
                .on_cgroup = record_on_cgroup,
                .on_value = record_on_value,
                .on_sources = record_on_sources,
        };
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        SnapshotRecord *record = calloc(1, sizeof(*record));

        fuzz_expect(record, "memory");
        fuzz_expect(snapshot_reader_new(fuzz_pieces_refill, &pieces, 0, &reader) == 0, "memory");
        record->result = snapshot_reader_run(reader, &visitor, record);
        record->format_version = reader->format_version;
        record->captured_ns = reader->captured_realtime_ns;
        record->n_all_threads = reader->n_threads;
        record->n_all_processes = reader->n_processes;
        record->offset = reader->document.scanner->offset;
        (void) snprintf(record->complaint, sizeof(record->complaint), "%s",
                        reader->document.complaint);
        return record;
}

static inline SnapshotRecord *snapshot_record_read_text(Span text) {
        FuzzPieces pieces = { .left = text };

        return snapshot_record_read(pieces);
}

/* The same, but of each thread only what identifies it. */
static inline SnapshotRecord *snapshot_record_read_names(FuzzPieces pieces) {
        static const SnapshotVisitor visitor = { .on_thread = record_on_thread,
                                                 .names_only = true };
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        SnapshotRecord *record = calloc(1, sizeof(*record));

        fuzz_expect(record, "memory");
        fuzz_expect(snapshot_reader_new(fuzz_pieces_refill, &pieces, 0, &reader) == 0, "memory");
        record->result = snapshot_reader_run(reader, &visitor, record);
        record->n_all_threads = reader->n_threads;
        record->n_all_processes = reader->n_processes;
        return record;
}

/* comparing */

static inline bool record_name_equal(Span a, Span b) {
        return !a.bytes == !b.bytes && span_equal(a, b);
}

static inline bool record_sample_equal(const ThreadSample *a, const ThreadSample *b) {
        if (a->tid != b->tid || a->tgid != b->tgid || a->start_ticks != b->start_ticks ||
            a->self != b->self || a->has_ppid != b->has_ppid || a->has_owner != b->has_owner ||
            a->has_kthread != b->has_kthread || a->has_exe != b->has_exe)
                return false;
        if ((a->has_ppid && a->ppid != b->ppid) ||
            (a->has_owner && (a->uid != b->uid || a->gid != b->gid)) ||
            (a->has_kthread && a->kthread != b->kthread) ||
            (a->has_exe && (a->exe_dev != b->exe_dev || a->exe_inode != b->exe_inode)))
                return false;
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                MetricId metric = (MetricId) id;

                if (thread_sample_has(a, metric) != thread_sample_has(b, metric) ||
                    (thread_sample_has(a, metric) &&
                     thread_sample_get(a, metric) != thread_sample_get(b, metric)))
                        return false;
        }
        return record_name_equal(a->pcomm, b->pcomm) && record_name_equal(a->comm, b->comm) &&
               record_name_equal(a->cgroup, b->cgroup) && record_name_equal(a->cpus, b->cpus);
}

static inline bool record_threads_equal(const SnapshotRecord *a, const SnapshotRecord *b) {
        if (a->n_threads != b->n_threads || a->n_all_threads != b->n_all_threads ||
            a->n_all_processes != b->n_all_processes)
                return false;
        for (size_t i = 0; i < a->n_threads; i++)
                if (!record_sample_equal(&a->samples[i], &b->samples[i]) ||
                    !span_equal(a->smaps[i], b->smaps[i]))
                        return false;
        return true;
}

static inline bool record_ledgers_equal(const LedgerSummary *a, const LedgerSummary *b) {
        if (a->generation != b->generation || a->exits != b->exits ||
            a->unfinished != b->unfinished || a->folded_rows != b->folded_rows ||
            a->overflow_exits != b->overflow_exits || a->lost_marks != b->lost_marks ||
            a->lost_records != b->lost_records || a->has_losses != b->has_losses ||
            a->moved_lost != b->moved_lost ||
            a->folded_grew_boottime_ns != b->folded_grew_boottime_ns || a->n_losses != b->n_losses)
                return false;
        for (size_t i = 0; i < a->n_losses; i++) {
                const OwnerLoss *one = &a->losses[i], *other = &b->losses[i];

                if (one->has_owner != other->has_owner || one->owner != other->owner ||
                    one->folded_rows != other->folded_rows ||
                    one->overflow_exits != other->overflow_exits ||
                    one->folded_grew_boottime_ns != other->folded_grew_boottime_ns)
                        return false;
        }
        return true;
}

static inline bool record_exited_equal(const SnapshotRecord *a, const SnapshotRecord *b) {
        if (a->has_ledger != b->has_ledger || a->n_exited != b->n_exited ||
            !record_ledgers_equal(&a->ledger, &b->ledger))
                return false;
        for (size_t i = 0; i < a->n_exited; i++) {
                const ExitedRow *one = &a->exited[i], *other = &b->exited[i];

                if (one->exits != other->exits || one->lives_ns != other->lives_ns ||
                    one->accounted != other->accounted || one->young != other->young ||
                    one->young_run_ns != other->young_run_ns ||
                    one->has_owner != other->has_owner || one->has_times != other->has_times ||
                    (one->has_owner && one->owner != other->owner) ||
                    (one->has_times && (one->folded != other->folded ||
                                        one->born_boottime_ns != other->born_boottime_ns ||
                                        one->grew_boottime_ns != other->grew_boottime_ns)) ||
                    !record_sample_equal(&one->sample, &other->sample))
                        return false;
        }
        return true;
}

static inline bool record_moved_equal(const SnapshotRecord *a, const SnapshotRecord *b) {
        if (a->n_moved != b->n_moved)
                return false;
        for (size_t i = 0; i < a->n_moved; i++)
                if (!record_sample_equal(&a->moved[i], &b->moved[i]))
                        return false;
        return true;
}

static inline bool record_rest_equal(const SnapshotRecord *a, const SnapshotRecord *b) {
        if (a->n_cgroups != b->n_cgroups || !record_name_equal(a->host, b->host) ||
            !record_name_equal(a->psi, b->psi) || !record_name_equal(a->sched_ext, b->sched_ext) ||
            !record_name_equal(a->probe_summary, b->probe_summary) ||
            a->captured_ns != b->captured_ns)
                return false;
        for (size_t i = 0; i < a->n_cgroups; i++)
                if (!span_equal(a->cgroups[i].path, b->cgroups[i].path) ||
                    !span_equal(a->cgroups[i].stats, b->cgroups[i].stats))
                        return false;
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                if (!record_name_equal(a->host_parts[i], b->host_parts[i]))
                        return false;
        return true;
}

static inline bool record_sources_equal(const SnapshotRecord *a, const SnapshotRecord *b) {
        if (a->has_sources != b->has_sources)
                return false;
        for (unsigned id = 0; a->has_sources && id < _SOURCE_MAX; id++) {
                const Source *one = &a->sources.sources[id], *other = &b->sources.sources[id];

                if (one->state != other->state || strcmp(one->reason, other->reason) != 0 ||
                    memcmp(one->counts, other->counts, sizeof(one->counts)) != 0)
                        return false;
        }
        return true;
}

/* writing */

static inline int record_sink(void *document, const char *bytes, size_t n) {
        return buffer_append(document, bytes, n);
}

static inline void record_rows(const SnapshotRecord *record, Buffer *rows) {
        for (size_t i = 0; i < record->n_threads; i++) {
                if (i > 0)
                        fuzz_expect(buffer_append_byte(rows, ',') == 0, "memory");
                fuzz_expect(thread_row_encode(rows, &record->samples[i], record->smaps[i]) == 0,
                            "every thread that was read can be written");
        }
}

static inline void record_write_exited(const SnapshotRecord *record, SnapshotWriter *writer) {
        JsonWriter json;
        Buffer text;

        buffer_init(&text, 0);
        json_writer_init(&json, &text);
        if (record->has_ledger)
                ledger_summary_write_json(&json, &record->ledger);
        fuzz_expect((!record->has_ledger || json_writer_finish(&json) == 0) &&
                            snapshot_writer_object(writer, SNAPSHOT_SECTION_LEDGER,
                                                   buffer_span(&text)) == 0,
                    "a ledger that was read can be written");
        buffer_clear(&text);
        for (size_t i = 0; i < record->n_exited; i++)
                fuzz_expect((i == 0 || buffer_append_byte(&text, ',') == 0) &&
                                    exited_row_encode(&text, &record->exited[i]) == 0,
                            "every row of the dead that was read can be written");
        fuzz_expect(snapshot_writer_rows(writer, SNAPSHOT_SECTION_EXITED, buffer_span(&text)) == 0,
                    "every row of the dead that was read can be written");
        buffer_clear(&text);
        for (size_t i = 0; i < record->n_moved; i++)
                fuzz_expect((i == 0 || buffer_append_byte(&text, ',') == 0) &&
                                    moved_row_encode(&text, &record->moved[i]) == 0,
                            "every row of the moved that was read can be written");
        fuzz_expect(snapshot_writer_rows(writer, SNAPSHOT_SECTION_MOVED, buffer_span(&text)) == 0,
                    "every row of the moved that was read can be written");
        buffer_done(&text);
}

/* @document is initialised here. All threads and rows of exited threads must have been kept. */
static inline void snapshot_record_write(const SnapshotRecord *record, Buffer *document) {
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        Head head = {
                .format_version = HEAD_FORMAT_VERSION,
                .has_start_realtime = record->captured_ns > 0,
                .start_realtime_ns = record->captured_ns,
                .has_threads = true,
                .threads = record->n_all_threads,
                .has_processes = true,
                .processes = record->n_all_processes,
        };
        Buffer rows;

        buffer_init(document, 0);
        buffer_init(&rows, 0);
        record_rows(record, &rows);
        fuzz_expect(snapshot_writer_new(record_sink, document, &writer) == 0 &&
                            snapshot_writer_begin(writer, &head) == 0 &&
                            snapshot_writer_object(writer, SNAPSHOT_SECTION_HOST, record->host) ==
                                    0,
                    "a document can be begun");
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                fuzz_expect(snapshot_writer_object(writer, SNAPSHOT_SECTION_HOST_CPU + i,
                                                   record->host_parts[i]) == 0,
                            "every part of the host that was read can be written");
        fuzz_expect(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, buffer_span(&rows)) == 0,
                    "every thread that was read can be written");
        record_write_exited(record, writer);
        for (size_t i = 0; i < record->n_cgroups; i++)
                fuzz_expect(snapshot_writer_entry(writer, SNAPSHOT_SECTION_CGROUPS,
                                                  record->cgroups[i].path,
                                                  record->cgroups[i].stats) == 0,
                            "every cgroup that was read can be written");
        fuzz_expect(snapshot_writer_object(writer, SNAPSHOT_SECTION_PRESSURE, record->psi) == 0 &&
                            snapshot_writer_object(writer, SNAPSHOT_SECTION_SCHED_EXT,
                                                   record->sched_ext) == 0 &&
                            snapshot_writer_object(writer, SNAPSHOT_SECTION_PROBE_SUMMARY,
                                                   record->probe_summary) == 0 &&
                            snapshot_writer_end(writer, &record->sources, &head) == 0,
                    "a document can be ended");
        buffer_done(&rows);
}
