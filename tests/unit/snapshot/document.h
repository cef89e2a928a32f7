/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Document
 *
 * Writes a snapshot document to memory, and reads one into a copy of everything that the visitor
 * got, so that a test can look at it after the reader is freed.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/macro.h"
#include "snapshot/snapshot-reader.h"
#include "snapshot/snapshot-writer.h"

/* writing */

static inline int document_sink(void *document, const char *bytes, size_t n) {
        return buffer_append(document, bytes, n);
}

/* Writes a document with @rows and no other section. */
static inline void document_write(Buffer *document, const Head *head, Span rows) {
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        SourceTable sources = {};

        buffer_init(document, 0);
        ck_assert_int_eq(snapshot_writer_new(document_sink, document, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, head), 0);
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, rows), 0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, head), 0);
}

/* reading */

#define MAX_VISITS 64

typedef struct Visited {
        ThreadSample samples[MAX_VISITS]; /* their spans point into @bytes */
        Span smaps[MAX_VISITS];
        size_t n_threads;
        ExitedRow exited[MAX_VISITS]; /* the same */
        size_t n_exited;
        ThreadSample moved[MAX_VISITS]; /* the same */
        size_t n_moved;
        LedgerSummary ledger;
        unsigned n_ledgers;
        Span paths[MAX_VISITS], stats[MAX_VISITS];
        size_t n_cgroups;
        Span host, host_parts[_HOST_PART_MAX], psi, sched_ext, probe_summary;
        SourceTable sources;
        unsigned n_hosts, n_psis, n_sched_exts, n_sources;
        char order[MAX_VISITS]; /* a letter a visit */
        size_t n_order;

        char *copies[8 * MAX_VISITS];
        size_t n_copies;

        uint32_t version;
        uint64_t captured_ns, n_read_threads, n_read_processes, offset;
        char complaint[512];
} Visited;

static inline Span visited_copy(Visited *visited, Span span) {
        char *copy;

        if (!span.bytes)
                return span;
        ck_assert_uint_lt(visited->n_copies, ELEMENTSOF(visited->copies));
        copy = malloc(span.n + 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, span.bytes, span.n);
        visited->copies[visited->n_copies++] = copy;
        return (Span){ copy, span.n };
}

static inline void visited_note(Visited *visited, char letter) {
        ck_assert_uint_lt(visited->n_order, MAX_VISITS - 1);
        visited->order[visited->n_order++] = letter;
}

static inline void visited_keep(Visited *visited, const ThreadSample *sample, ThreadSample *copy) {
        *copy = *sample;
        copy->pcomm = visited_copy(visited, sample->pcomm);
        copy->comm = visited_copy(visited, sample->comm);
        copy->cgroup = visited_copy(visited, sample->cgroup);
        copy->cpus = visited_copy(visited, sample->cpus);
}

static inline int visited_thread(void *userdata, const ThreadSample *sample, Span smaps) {
        Visited *visited = userdata;

        ck_assert_uint_lt(visited->n_threads, MAX_VISITS);
        visited_keep(visited, sample, &visited->samples[visited->n_threads]);
        visited->smaps[visited->n_threads++] = visited_copy(visited, smaps);
        visited_note(visited, 't');
        return 0;
}

static inline int visited_ledger(void *userdata, const LedgerSummary *ledger) {
        Visited *visited = userdata;

        visited->ledger = *ledger;
        visited->n_ledgers++;
        visited_note(visited, 'l');
        return 0;
}

static inline int visited_exited(void *userdata, const ExitedRow *row) {
        Visited *visited = userdata;
        ExitedRow *copy;

        ck_assert_uint_lt(visited->n_exited, MAX_VISITS);
        copy = &visited->exited[visited->n_exited++];
        *copy = *row;
        visited_keep(visited, &row->sample, &copy->sample);
        copy->started_by = visited_copy(visited, row->started_by);
        visited_note(visited, 'd');
        return 0;
}

static inline int visited_moved(void *userdata, const ThreadSample *ended) {
        Visited *visited = userdata;

        ck_assert_uint_lt(visited->n_moved, MAX_VISITS);
        visited_keep(visited, ended, &visited->moved[visited->n_moved++]);
        visited_note(visited, 'm');
        return 0;
}

static inline int visited_cgroup(void *userdata, Span path, Span stats) {
        Visited *visited = userdata;

        ck_assert_uint_lt(visited->n_cgroups, MAX_VISITS);
        visited->paths[visited->n_cgroups] = visited_copy(visited, path);
        visited->stats[visited->n_cgroups++] = visited_copy(visited, stats);
        visited_note(visited, 'c');
        return 0;
}

static inline int visited_value(void *userdata, SnapshotSection section, Span json) {
        Visited *visited = userdata;
        Span copy = visited_copy(visited, json);

        switch ((unsigned) section) {
        case SNAPSHOT_SECTION_HOST:
                visited->n_hosts++;
                visited->host = copy;
                visited_note(visited, 'h');
                break;
        case SNAPSHOT_SECTION_PRESSURE:
                visited->n_psis++;
                visited->psi = copy;
                visited_note(visited, 'p');
                break;
        case SNAPSHOT_SECTION_SCHED_EXT:
                visited->n_sched_exts++;
                visited->sched_ext = copy;
                visited_note(visited, 'x');
                break;
        case SNAPSHOT_SECTION_PROBE_SUMMARY:
                visited->probe_summary = copy;
                visited_note(visited, 'm');
                break;
        default:
                visited->host_parts[section - SNAPSHOT_SECTION_HOST_CPU] = copy;
                visited_note(visited, (char) ('0' + (section - SNAPSHOT_SECTION_HOST_CPU)));
                break;
        }
        return 0;
}

static inline int visited_sources(void *userdata, const SourceTable *sources) {
        Visited *visited = userdata;

        visited->n_sources++;
        visited->sources = *sources;
        visited_note(visited, 's');
        return 0;
}

static const SnapshotVisitor visited_all = {
        .on_thread = visited_thread,
        .on_ledger = visited_ledger,
        .on_exited = visited_exited,
        .on_moved = visited_moved,
        .on_cgroup = visited_cgroup,
        .on_value = visited_value,
        .on_sources = visited_sources,
};

static inline void visited_free(Visited *visited) {
        for (size_t i = 0; i < visited->n_copies; i++)
                free(visited->copies[i]);
        free(visited);
}

/* Hands out @chunk bytes at a time. */
typedef struct DocumentStream {
        Span left;
        size_t chunk;
} DocumentStream;

static inline int document_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        DocumentStream *stream = userdata;
        size_t n = MIN_OF(stream->left.n, stream->chunk);

        n = MIN_OF(n, n_space);
        memcpy(space, stream->left.bytes, n);
        stream->left = (Span){ stream->left.bytes + n, stream->left.n - n };
        *ret_n = n;
        return 0;
}

static inline int document_read_chunks(Span document, size_t chunk, const SnapshotVisitor *visitor,
                                       Visited **ret) {
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        DocumentStream stream = { document, chunk };
        Visited *visited = calloc(1, sizeof(*visited));
        int r;

        ck_assert_ptr_nonnull(visited);
        ck_assert_int_eq(snapshot_reader_new(document_refill, &stream, 0, &reader), 0);
        r = snapshot_reader_run(reader, visitor, visited);
        visited->version = reader->format_version;
        visited->captured_ns = reader->captured_realtime_ns;
        visited->n_read_threads = reader->n_threads;
        visited->n_read_processes = reader->n_processes;
        visited->offset = reader->document.scanner->offset;
        (void) snprintf(visited->complaint, sizeof(visited->complaint), "%s",
                        reader->document.complaint);
        *ret = visited;
        return r;
}

/* Returns what snapshot_reader_run() did; visited_free() *ret in any case. */
static inline int document_read(Span document, Visited **ret) {
        return document_read_chunks(document, 64 * 1024, &visited_all, ret);
}
