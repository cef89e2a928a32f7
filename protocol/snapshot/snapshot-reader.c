/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/snapshot-reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/err.h"
#include "snapshot/head.h"

static const DocumentKind snapshot_kind;

int snapshot_reader_new(JsonRefill refill, void *userdata, uint64_t max_bytes,
                        SnapshotReader **ret) {
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        int r;

        reader = calloc(1, sizeof(*reader));
        if (!reader)
                return -ENOMEM;
        r = document_reader_init(&reader->document, &snapshot_kind, reader, refill, userdata,
                                 max_bytes);
        if (r < 0)
                return r;
        reader->row.thread.scanner = reader->document.scanner;
        *ret = TAKE_PTR(reader);
        return 0;
}

SnapshotReader *snapshot_reader_free(SnapshotReader *reader) {
        if (!reader)
                return NULL;
        buffer_done(&reader->row.thread.bytes);
        buffer_done(&reader->row.thread.smaps);
        buffer_done(&reader->row.thread.last_command);
        buffer_done(&reader->row.thread.last_name);
        table_reader_done(&reader->table);
        document_reader_done(&reader->document);
        for (uint32_t i = 0; i < SNAPSHOT_PAGES; i++)
                free(reader->pages[i]);
        free(reader);
        return NULL;
}

/* tables */

/*
 * The shape of the threads depends on the format version. If that comes after them, end_document()
 * compares.
 */
static int begin_rows(void *userdata, DocumentReader *document) {
        static const TableRows *const rows[_SNAPSHOT_SECTION_MAX] = {
                [SNAPSHOT_SECTION_THREADS] = &thread_rows,
                [SNAPSHOT_SECTION_EXITED] = &exited_rows,
                [SNAPSHOT_SECTION_MOVED] = &moved_rows,
        };
        size_t section = (size_t) (document->reading - snapshot_sections);
        SnapshotReader *reader = userdata;
        void *row = &reader->row.thread;
        unsigned n_first = 0;
        JsonToken token;

        json_scanner_next(document->scanner, &token);
        reader->row.thread.is_version_0 = false;
        if (section == SNAPSHOT_SECTION_THREADS) {
                reader->has_threads = true;
                reader->is_table = token != JSON_TOKEN_ARRAY || reader->format_version > 0;
                reader->row.thread.is_version_0 = !reader->is_table;
                if (!reader->is_table)
                        return 0;
                n_first = reader->visitor->names_only ? _COLUMN_IDENTITY_MAX : 0;
        } else if (section == SNAPSHOT_SECTION_EXITED)
                row = &reader->row;
        return table_reader_begin(&reader->table, document, token, rows[section], row, n_first);
}

static int next_row(void *userdata, DocumentReader *document, bool *ret_more) {
        size_t section = (size_t) (document->section - snapshot_sections);
        SnapshotReader *reader = userdata;
        const SnapshotVisitor *visitor = reader->visitor;
        uint64_t **page;
        uint32_t id;
        int r;

        r = section == SNAPSHOT_SECTION_THREADS && !reader->is_table
                    ? thread_reader_object(&reader->row.thread, document, reader->n_threads,
                                           ret_more)
                    : table_reader_next(&reader->table, document, ret_more);
        if (r != 0 || !*ret_more)
                return r;
        if (section == SNAPSHOT_SECTION_MOVED)
                return visitor->on_moved ? err_fold(visitor->on_moved(reader->userdata,
                                                                      &reader->row.thread.sample))
                                         : 0;
        if (section == SNAPSHOT_SECTION_EXITED) {
                if (!reader->has_ledger)
                        return document_fail(document,
                                             "rows of the dead without a ledger before them");
                return visitor->on_exited
                               ? err_fold(visitor->on_exited(reader->userdata, &reader->row.row))
                               : 0;
        }
        reader->n_threads++;
        id = (uint32_t) reader->row.thread.sample.tgid;
        page = &reader->pages[id / SNAPSHOT_PAGE_IDS];
        if (!*page)
                *page = calloc(BITS_WORDS(SNAPSHOT_PAGE_IDS), sizeof(**page));
        if (!*page)
                return -ENOMEM;
        reader->n_processes += !bits_has(*page, id % SNAPSHOT_PAGE_IDS);
        bits_set(*page, id % SNAPSHOT_PAGE_IDS);
        return 0;
}

/* other sections */

static int read_ledger(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;
        LedgerSummary ledger;
        JsonToken token;
        int r;

        json_scanner_next(document->scanner, &token);
        if (token == JSON_TOKEN_NULL)
                return 0;
        if (token != JSON_TOKEN_OBJECT)
                return document_fail(document, "an object or null is expected");
        r = ledger_summary_scan(document->scanner, &ledger);
        if (r != 0)
                return r;
        reader->has_ledger = true;
        if (!reader->visitor->on_ledger)
                return 0;
        return err_fold(reader->visitor->on_ledger(reader->userdata, &ledger));
}

static int read_object(void *userdata, DocumentReader *document) {
        SnapshotSection section = (SnapshotSection) (document->reading - snapshot_sections);
        SnapshotReader *reader = userdata;
        Span json;
        int r;

        r = document_object(document, &json);
        if (r != 0 || !json.bytes || !reader->visitor->on_value)
                return r;
        return err_fold(reader->visitor->on_value(reader->userdata, section, json));
}

static int next_cgroup(void *userdata, DocumentReader *document, bool *ret_more) {
        SnapshotReader *reader = userdata;
        Span path, stats;
        int r;

        r = document_entry(document, "a cgroup is there twice", &path, &stats);
        *ret_more = r == 0 && path.bytes;
        if (!*ret_more || !reader->visitor->on_cgroup)
                return r;
        return err_fold(reader->visitor->on_cgroup(reader->userdata, path, stats));
}

#define HOST_PART_SECTION(id, name, ...) \
        [SNAPSHOT_SECTION_HOST_##id] = { "host_" name, DOCUMENT_OBJECT, .read = read_object },
const DocumentSection snapshot_sections[_SNAPSHOT_SECTION_MAX] = {
        [SNAPSHOT_SECTION_HOST] = { "host", DOCUMENT_OBJECT, .read = read_object },
        HOST_PARTS(HOST_PART_SECTION, )[SNAPSHOT_SECTION_THREADS] = { "threads", DOCUMENT_TABLE,
                                                                      .write_columns =
                                                                              thread_columns_write,
                                                                      .read = begin_rows,
                                                                      .next = next_row },
        [SNAPSHOT_SECTION_LEDGER] = { "ledger", DOCUMENT_OBJECT, .read = read_ledger },
        [SNAPSHOT_SECTION_EXITED] = { "dead", DOCUMENT_TABLE, .write_columns = exited_columns_write,
                                      .read = begin_rows, .next = next_row },
        [SNAPSHOT_SECTION_MOVED] = { "moved", DOCUMENT_TABLE, .write_columns = moved_columns_write,
                                     .read = begin_rows, .next = next_row },
        [SNAPSHOT_SECTION_CGROUPS] = { "cgroup_stats", DOCUMENT_MAP, .read = document_map,
                                       .next = next_cgroup },
        [SNAPSHOT_SECTION_PRESSURE] = { "psi", DOCUMENT_OBJECT, .read = read_object },
        [SNAPSHOT_SECTION_SCHED_EXT] = { "sched_ext", DOCUMENT_OBJECT, .read = read_object },
        [SNAPSHOT_SECTION_PROBE_SUMMARY] = { "probe_summary", DOCUMENT_OBJECT,
                                             .read = read_object },
};

/* members */

static int read_member(void *userdata, DocumentReader *document, Span key) {
        JsonScanner *scanner = document->scanner;
        SnapshotReader *reader = userdata;
        const char *end_key = NULL;
        SourceTable sources;
        uint64_t version;
        int r;

        if (span_is(key, "formatVersion")) {
                document->member = "formatVersion";
                r = json_scanner_u64(scanner, &version);
                if (r != 0)
                        return r;
                reader->format_version = (uint32_t) MIN_OF(version, (uint64_t) UINT32_MAX);
                return version > HEAD_FORMAT_VERSION
                               ? document_fail(document, "newer than this program reads")
                               : 0;
        }
        if (span_is(key, "captured_at_unix_ns")) {
                document->member = "captured_at_unix_ns";
                return json_scanner_u64(scanner, &reader->captured_realtime_ns);
        }
        if (span_is(key, "sources")) {
                document->member = "sources";
                r = source_table_scan_json(scanner, &sources);
                if (r != 0 || !reader->visitor->on_sources)
                        return r;
                return err_fold(reader->visitor->on_sources(reader->userdata, &sources));
        }
        if (!span_is(key, "end"))
                return head_check_member(scanner, key, HEAD_START, &document->member);
        document->member = "end";
        r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                r = json_scanner_member(scanner, &key);
                if (r != 0 || !key.bytes)
                        break;
                if (span_is(key, "threads")) {
                        reader->has_end_threads = true;
                        r = json_scanner_u64(scanner, &reader->end_threads);
                } else if (span_is(key, "processes")) {
                        reader->has_end_processes = true;
                        r = json_scanner_u64(scanner, &reader->end_processes);
                } else
                        r = head_check_member(scanner, key, HEAD_END, &end_key);
        }
        return r;
}

static int end_document(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;

        if (!reader->has_threads)
                return document_fail(document, "the member \"threads\" is missing");
        if (reader->is_table && reader->format_version == 0)
                return document_fail(document, "the member \"formatVersion\" is missing");
        if (!reader->is_table && reader->format_version > 0)
                return document_fail(document,
                                     "the threads do not have the shape of the format version");
        if (reader->has_end_threads && reader->end_threads != reader->n_threads)
                return document_fail(document, "the end tells another number of threads");
        if (reader->has_end_processes && reader->end_processes != reader->n_processes)
                return document_fail(document, "the end tells another number of processes");
        return 0;
}

static const DocumentKind snapshot_kind = {
        .sections = snapshot_sections,
        .n_sections = ELEMENTSOF(snapshot_sections),
        .member = read_member,
        .end = end_document,
};

int snapshot_reader_next(SnapshotReader *reader, const SnapshotVisitor *visitor, void *userdata,
                         const ThreadSample **ret_sample, Span *ret_smaps_json) {
        const DocumentSection *section;
        int r;

        reader->visitor = visitor;
        reader->userdata = userdata;
        do
                r = document_reader_next(&reader->document, &section);
        while (r == 0 && section && section != &snapshot_sections[SNAPSHOT_SECTION_THREADS]);
        if (r == JSON_E_MALFORMED)
                return reader->format_version > HEAD_FORMAT_VERSION ? SNAPSHOT_E_TOO_NEW
                                                                    : SNAPSHOT_E_MALFORMED;
        if (r != 0)
                return err_fold(r);
        *ret_sample = section ? &reader->row.thread.sample : NULL;
        *ret_smaps_json = section ? buffer_span(&reader->row.thread.smaps) : (Span){};
        return 0;
}

int snapshot_reader_run(SnapshotReader *reader, const SnapshotVisitor *visitor, void *userdata) {
        const ThreadSample *sample;
        Span smaps;
        int r;

        for (;;) {
                r = snapshot_reader_next(reader, visitor, userdata, &sample, &smaps);
                if (r != 0 || !sample)
                        return r;
                if (!visitor->on_thread)
                        continue;
                r = visitor->on_thread(userdata, sample, smaps);
                if (r != 0)
                        return err_fold(r);
        }
}
