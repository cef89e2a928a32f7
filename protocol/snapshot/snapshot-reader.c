/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/snapshot-reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/err.h"
#include "document/document-reader.h"
#include "snapshot/exited-row.h"
#include "snapshot/head.h"
#include "snapshot/thread-reader.h"

/* Process ids seen, a bit each, in pages that are allocated with the first id in them. */
#define PAGE_IDS (UINT32_C(1) << 20)
#define N_PAGES ((UINT32_C(1) << 31) / PAGE_IDS)

struct SnapshotReader {
        DocumentReader document;
        TableReader table; /* of threads */
        ThreadReader thread;
        TableReader exited_table;
        ExitedReader exited;
        TableReader moved_table;
        ThreadReader moved;
        const SnapshotVisitor *visitor;
        void *userdata;

        bool is_too_new, has_threads, is_table, has_ledger;
        uint64_t version;
        uint64_t captured_realtime_ns;
        uint64_t n_threads, n_processes;
        bool has_end_threads, has_end_processes;
        uint64_t end_threads, end_processes;
        uint64_t *pages[N_PAGES];
};

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
        thread_reader_init(&reader->thread, reader->document.scanner);
        thread_reader_init(&reader->exited.thread, reader->document.scanner);
        thread_reader_init(&reader->moved, reader->document.scanner);
        *ret = TAKE_PTR(reader);
        return 0;
}

SnapshotReader *snapshot_reader_free(SnapshotReader *reader) {
        if (!reader)
                return NULL;
        thread_reader_done(&reader->thread);
        table_reader_done(&reader->table);
        thread_reader_done(&reader->exited.thread);
        table_reader_done(&reader->exited_table);
        thread_reader_done(&reader->moved);
        table_reader_done(&reader->moved_table);
        document_reader_done(&reader->document);
        for (uint32_t i = 0; i < N_PAGES; i++)
                free(reader->pages[i]);
        free(reader);
        return NULL;
}

uint32_t snapshot_reader_format_version(const SnapshotReader *reader) {
        return (uint32_t) MIN_OF(reader->version, (uint64_t) UINT32_MAX);
}

uint64_t snapshot_reader_captured_realtime_ns(const SnapshotReader *reader) {
        return reader->captured_realtime_ns;
}

uint64_t snapshot_reader_n_threads(const SnapshotReader *reader) {
        return reader->n_threads;
}

uint64_t snapshot_reader_n_processes(const SnapshotReader *reader) {
        return reader->n_processes;
}

uint64_t snapshot_reader_offset(const SnapshotReader *reader) {
        return json_scanner_offset(reader->document.scanner);
}

const char *snapshot_reader_complaint(const SnapshotReader *reader) {
        return reader->document.complaint;
}

/* threads */

/*
 * The shape depends on the format version. If that comes after the threads, end_document()
 * compares.
 */
static int begin_threads(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;
        JsonToken token;
        unsigned n_first;

        json_scanner_next(document->scanner, &token);
        n_first = reader->visitor->names_only ? _COLUMN_IDENTITY_MAX : 0;
        reader->has_threads = true;
        reader->is_table = token != JSON_TOKEN_ARRAY || reader->version > 0;
        return reader->is_table ? table_reader_begin(&reader->table, document, token, &thread_rows,
                                                     &reader->thread, n_first)
                                : 0;
}

static int next_thread(void *userdata, DocumentReader *document, bool *ret_more) {
        SnapshotReader *reader = userdata;
        uint64_t **page;
        uint32_t id;
        int r;

        r = reader->is_table
                    ? table_reader_next(&reader->table, document, ret_more)
                    : thread_reader_object(&reader->thread, document, reader->n_threads, ret_more);
        if (r != 0 || !*ret_more)
                return r;
        reader->n_threads++;
        id = (uint32_t) reader->thread.sample.tgid;
        page = &reader->pages[id / PAGE_IDS];
        if (!*page)
                *page = calloc(BITS_WORDS(PAGE_IDS), sizeof(**page));
        if (!*page)
                return -ENOMEM;
        reader->n_processes += !bits_has(*page, id % PAGE_IDS);
        bits_set(*page, id % PAGE_IDS);
        return 0;
}

/* exited threads */

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

static int begin_rows(void *userdata, DocumentReader *document) {
        bool is_moved = document->reading == &snapshot_sections[SNAPSHOT_SECTION_MOVED];
        SnapshotReader *reader = userdata;
        JsonToken token;

        json_scanner_next(document->scanner, &token);
        return is_moved ? table_reader_begin(&reader->moved_table, document, token, &moved_rows,
                                             &reader->moved, 0)
                        : table_reader_begin(&reader->exited_table, document, token, &exited_rows,
                                             &reader->exited, 0);
}

static int next_exited(void *userdata, DocumentReader *document, bool *ret_more) {
        SnapshotReader *reader = userdata;
        int r;

        r = table_reader_next(&reader->exited_table, document, ret_more);
        if (r != 0 || !*ret_more)
                return r;
        if (!reader->has_ledger)
                return document_fail(document, "rows of the dead without a ledger before them");
        if (!reader->visitor->on_exited)
                return 0;
        return err_fold(reader->visitor->on_exited(reader->userdata, &reader->exited.row));
}

static int next_moved(void *userdata, DocumentReader *document, bool *ret_more) {
        SnapshotReader *reader = userdata;
        int r;

        r = table_reader_next(&reader->moved_table, document, ret_more);
        if (r != 0 || !*ret_more || !reader->visitor->on_moved)
                return r;
        return err_fold(reader->visitor->on_moved(reader->userdata, &reader->moved.sample));
}

/* other sections */

static int read_object(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;
        const SnapshotVisitor *visitor = reader->visitor;
        size_t section = (size_t) (document->reading - snapshot_sections);
        int (*on_object)(void *userdata, Span json) = NULL;
        Span json;
        int r;

        r = document_object(document, &json);
        if (r != 0 || !json.bytes)
                return r;
        switch (section) {
        case SNAPSHOT_SECTION_HOST:
                on_object = visitor->on_host;
                break;
        case SNAPSHOT_SECTION_PRESSURE:
                on_object = visitor->on_psi;
                break;
        case SNAPSHOT_SECTION_SCHED_EXT:
                on_object = visitor->on_sched_ext;
                break;
        case SNAPSHOT_SECTION_PROBE_SUMMARY:
                on_object = visitor->on_probe_summary;
                break;
        default:
                if (visitor->on_host_part)
                        r = visitor->on_host_part(
                                reader->userdata,
                                (HostPartId) (section - SNAPSHOT_SECTION_HOST_CPU), json);
                break;
        }
        if (on_object)
                r = on_object(reader->userdata, json);
        return err_fold(r);
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
                                                                      .read = begin_threads,
                                                                      .next = next_thread },
        [SNAPSHOT_SECTION_LEDGER] = { "ledger", DOCUMENT_OBJECT, .read = read_ledger },
        [SNAPSHOT_SECTION_EXITED] = { "dead", DOCUMENT_TABLE, .write_columns = exited_columns_write,
                                      .read = begin_rows, .next = next_exited },
        [SNAPSHOT_SECTION_MOVED] = { "moved", DOCUMENT_TABLE, .write_columns = moved_columns_write,
                                     .read = begin_rows, .next = next_moved },
        [SNAPSHOT_SECTION_CGROUPS] = { "cgroup_stats", DOCUMENT_MAP, .read = document_map,
                                       .next = next_cgroup },
        [SNAPSHOT_SECTION_PRESSURE] = { "psi", DOCUMENT_OBJECT, .read = read_object },
        [SNAPSHOT_SECTION_SCHED_EXT] = { "sched_ext", DOCUMENT_OBJECT, .read = read_object },
        [SNAPSHOT_SECTION_PROBE_SUMMARY] = { "probe_summary", DOCUMENT_OBJECT,
                                             .read = read_object },
};

/* members */

static int read_sources(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;
        SourceTable sources;
        int r;

        r = source_table_scan_json(document->scanner, &sources);
        if (r != 0 || !reader->visitor->on_sources)
                return r;
        return err_fold(reader->visitor->on_sources(reader->userdata, &sources));
}

static int read_version(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;
        int r;

        r = json_scanner_u64(document->scanner, &reader->version);
        if (r != 0)
                return r;
        reader->is_too_new = reader->version > HEAD_FORMAT_VERSION;
        return reader->is_too_new ? document_fail(document, "newer than this program reads") : 0;
}

static int read_captured(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;

        return json_scanner_u64(document->scanner, &reader->captured_realtime_ns);
}

/* The values of these come from the head; here only their types are checked. */
static int check_text(void *userdata, DocumentReader *document) {
        return json_scanner_expect(document->scanner, JSON_TOKEN_STRING);
}

static int check_number(void *userdata, DocumentReader *document) {
        return json_scanner_u64(document->scanner, &(uint64_t){ 0 });
}

static int check_bool(void *userdata, DocumentReader *document) {
        return json_scanner_bool(document->scanner, &(bool){ false });
}

static int read_end_member(void *userdata, JsonScanner *scanner, Span key) {
        SnapshotReader *reader = userdata;

        if (span_is(key, "threads")) {
                reader->has_end_threads = true;
                return json_scanner_u64(scanner, &reader->end_threads);
        }
        if (span_is(key, "processes")) {
                reader->has_end_processes = true;
                return json_scanner_u64(scanner, &reader->end_processes);
        }
        if (span_is(key, "endRealtimeNs") || span_is(key, "endBoottimeNs") ||
            span_is(key, "taskstatsVersion") || span_is(key, "ledgerSinceBoottimeNs") ||
            span_is(key, "waitsSinceBoottimeNs"))
                return check_number(reader, &reader->document);
        if (span_is(key, "backend") || span_is(key, "ledgerId"))
                return check_text(reader, &reader->document);
        if (span_is(key, "complete"))
                return check_bool(reader, &reader->document);
        return json_scanner_skip(scanner);
}

static int read_end(void *userdata, DocumentReader *document) {
        return json_scanner_object(document->scanner, read_end_member, userdata);
}

static const DocumentMember members[] = {
        { "formatVersion", read_version },     { "captured_at_unix_ns", read_captured },
        { "toolVersion", check_text },         { "hostName", check_text },
        { "machineId", check_text },           { "bootId", check_text },
        { "kernelRelease", check_text },       { "startRealtimeNs", check_number },
        { "startBoottimeNs", check_number },   { "user_hz", check_number },
        { "page_size", check_number },         { "smapsRequested", check_bool },
        { "smapsMode", check_text },           { "smapsMaxRssBytes", check_number },
        { "smapsMaxProcesses", check_number }, { "heapRequested", check_bool },
        { "sources", read_sources },           { "end", read_end },
};

static int end_document(void *userdata, DocumentReader *document) {
        SnapshotReader *reader = userdata;

        if (!reader->has_threads)
                return document_fail(document, "the member \"threads\" is missing");
        if (reader->is_table && reader->version == 0)
                return document_fail(document, "the member \"formatVersion\" is missing");
        if (!reader->is_table && reader->version > 0)
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
        .members = members,
        .n_members = ELEMENTSOF(members),
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
                return reader->is_too_new ? SNAPSHOT_E_TOO_NEW : SNAPSHOT_E_MALFORMED;
        if (r != 0)
                return err_fold(r);
        *ret_sample = section ? &reader->thread.sample : NULL;
        *ret_smaps_json = section ? buffer_span(&reader->thread.smaps) : (Span){};
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
