/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/snapshot-reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/name-set.h"
#include "base/number.h"
#include "snapshot/head.h"
#include "snapshot/thread-reader.h"

#define COMPLAINT_BYTES 512
#define MEMBER_BYTES 32

/* Process ids seen, a bit each, in pages that exist once an id of theirs was seen. */
#define PAGE_IDS (UINT32_C(1) << 20)
#define N_PAGES ((UINT32_C(1) << 31) / PAGE_IDS)

/* Between which tokens reading stopped. */
typedef enum Place {
        PLACE_START,
        PLACE_DOCUMENT, /* between two of its members */
        PLACE_TABLE,    /* between two members of the table */
        PLACE_ROWS,     /* between two of its rows */
        PLACE_OBJECTS,  /* between two threads of format version 0 */
        PLACE_END,
} Place;

struct SnapshotReader {
        JsonScanner *scanner;
        ThreadReader thread;
        const SnapshotVisitor *visitor;
        void *userdata;

        Place place;
        bool has_thread; /* the last one read is to be handed out */

        bool has_version, is_too_new, has_threads, is_table, has_columns, has_rows;
        uint64_t version;
        uint64_t captured_realtime_ns;
        uint64_t n_threads, n_processes;
        bool has_end_threads, has_end_processes;
        uint64_t end_threads, end_processes;

        Buffer name;   /* of a cgroup */
        NameSet names; /* of all of them */
        Buffer value;  /* JSON on its way to the visitor */
        uint64_t *pages[N_PAGES];

        char member[MEMBER_BYTES]; /* of the document, being read */
        bool is_in_thread;
        char complaint[COMPLAINT_BYTES];
};

int snapshot_reader_new(JsonRefill refill, void *userdata, uint64_t max_bytes,
                        SnapshotReader **ret) {
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        const JsonLimits limits = {
                .max_depth = SNAPSHOT_MAX_DEPTH,
                .max_token_bytes = SNAPSHOT_MAX_TOKEN_BYTES,
                .max_text_bytes = max_bytes,
        };
        int r;

        reader = calloc(1, sizeof(*reader));
        if (!reader)
                return -ENOMEM;
        buffer_init(&reader->name, 0);
        buffer_init(&reader->value, SNAPSHOT_MAX_VALUE_BYTES);
        r = json_scanner_new_stream(refill, userdata, &limits, &reader->scanner);
        if (r < 0)
                return r;
        thread_reader_init(&reader->thread, reader->scanner);
        *ret = TAKE_PTR(reader);
        return 0;
}

SnapshotReader *snapshot_reader_free(SnapshotReader *reader) {
        if (!reader)
                return NULL;
        thread_reader_done(&reader->thread);
        reader->scanner = json_scanner_free(reader->scanner);
        buffer_done(&reader->name);
        name_set_done(&reader->names);
        buffer_done(&reader->value);
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
        return json_scanner_offset(reader->scanner);
}

const char *snapshot_reader_complaint(const SnapshotReader *reader) {
        return reader->complaint;
}

static int fail(SnapshotReader *reader, const char *complaint) {
        return json_scanner_fail(reader->scanner, complaint);
}

/* threads */

static int count_process(SnapshotReader *reader, pid_t tgid) {
        uint32_t id = (uint32_t) tgid;
        uint64_t **page = &reader->pages[id / PAGE_IDS];
        uint64_t *word, bit = UINT64_C(1) << id % 64;

        if (!*page) {
                *page = calloc(PAGE_IDS / 64, sizeof(**page));
                if (!*page)
                        return -ENOMEM;
        }
        word = &(*page)[id % PAGE_IDS / 64];
        if (!(*word & bit))
                reader->n_processes++;
        *word |= bit;
        return 0;
}

static int count_thread(SnapshotReader *reader) {
        int r;

        r = count_process(reader, reader->thread.sample.tgid);
        if (r < 0)
                return r;
        reader->n_threads++;
        return 0;
}

/* The next element of an array of threads, each with @opener and @read_thread; or its end. */
static int read_thread(SnapshotReader *reader, JsonToken opener, const char *complaint,
                       int (*read)(ThreadReader *), Place behind) {
        JsonToken token;
        int r;

        r = json_scanner_element(reader->scanner, &token);
        if (r != 0)
                return r;
        if (token == JSON_TOKEN_ARRAY_END) {
                reader->place = behind;
                return 0;
        }
        if (token != opener)
                return fail(reader, complaint);
        reader->is_in_thread = true;
        r = read(&reader->thread);
        if (r == 0)
                r = count_thread(reader);
        if (r != 0)
                return r;
        reader->is_in_thread = false;
        reader->has_thread = true;
        return 0;
}

static int read_row(SnapshotReader *reader) {
        return read_thread(reader, JSON_TOKEN_ARRAY, "a row must be an array", thread_reader_row,
                           PLACE_TABLE);
}

static int read_object(SnapshotReader *reader) {
        return read_thread(reader, JSON_TOKEN_OBJECT, "a thread must be an object",
                           thread_reader_object, PLACE_DOCUMENT);
}

static int read_table_member(SnapshotReader *reader) {
        Span key;
        int r;

        r = json_scanner_member(reader->scanner, &key);
        if (r != 0)
                return r;
        if (!key.bytes) {
                reader->place = PLACE_DOCUMENT;
                return reader->has_rows ? 0 : fail(reader, "a table must have columns and rows");
        }
        if (span_is(key, "columns")) {
                reader->has_columns = true;
                return thread_reader_columns(&reader->thread);
        }
        if (!span_is(key, "rows"))
                return json_scanner_skip(reader->scanner);
        if (!reader->has_columns)
                return fail(reader, "the columns must come before the rows");
        reader->has_rows = true;
        reader->place = PLACE_ROWS;
        return json_scanner_expect(reader->scanner, JSON_TOKEN_ARRAY);
}

/* The shape is that of the format version; where that follows later, end_document() compares. */
static int begin_threads(SnapshotReader *reader) {
        JsonToken token;
        int r;

        r = json_scanner_next(reader->scanner, &token);
        if (r != 0)
                return r;
        reader->has_threads = true;
        reader->is_table = token == JSON_TOKEN_OBJECT;
        if (!reader->is_table && (token != JSON_TOKEN_ARRAY || reader->version > 0))
                return fail(reader, "an object with columns and rows is expected");
        reader->place = reader->is_table ? PLACE_TABLE : PLACE_OBJECTS;
        return 0;
}

/* values handed on */

/*
 * The format has no number that is not a 64-bit integer; where one stands within a value that is
 * handed on unread, 2^64 say, whoever reads it would have to refuse it.
 */
static bool has_only_integers(Span json) {
        bool in_string = false;

        for (size_t i = 0; i < json.n; i++) {
                char c = json.bytes[i];

                if (in_string && c == '\\')
                        i++;
                else if (c == '"')
                        in_string = !in_string;
                else if (!in_string && c >= '0' && c <= '9') {
                        size_t start = i;

                        while (i + 1 < json.n && json.bytes[i + 1] >= '0' &&
                               json.bytes[i + 1] <= '9')
                                i++;
                        if (!number_parse_u64((Span){ json.bytes + start, i + 1 - start },
                                              &(uint64_t){ 0 }))
                                return false;
                        if (i + 1 < json.n &&
                            (json.bytes[i + 1] == '.' || (json.bytes[i + 1] | 0x20) == 'e'))
                                return false;
                }
        }
        return true;
}

/* The object whose opening token was read, into reader->value. */
static int take_object(SnapshotReader *reader) {
        int r;

        buffer_clear(&reader->value);
        r = json_scanner_raw(reader->scanner, &reader->value);
        if (r == -EMSGSIZE)
                return fail(reader, "the value is too long");
        if (r != 0)
                return r;
        if (!has_only_integers(buffer_span(&reader->value)))
                return fail(reader, "a number within is not a 64-bit integer");
        return 0;
}

static int read_value(SnapshotReader *reader, int (*on_value)(void *, Span)) {
        JsonToken token;
        int r;

        r = json_scanner_next(reader->scanner, &token);
        if (r != 0 || token == JSON_TOKEN_NULL)
                return r;
        if (token != JSON_TOKEN_OBJECT)
                return fail(reader, "an object or null is expected");
        r = take_object(reader);
        if (r != 0 || !on_value)
                return r;
        return err_fold(on_value(reader->userdata, buffer_span(&reader->value)));
}

static int read_host(SnapshotReader *reader) {
        return read_value(reader, reader->visitor->on_host);
}

static int read_psi(SnapshotReader *reader) {
        return read_value(reader, reader->visitor->on_psi);
}

static int read_sched_ext(SnapshotReader *reader) {
        return read_value(reader, reader->visitor->on_sched_ext);
}

/* The path that @key stands for: two escapes of one path are two keys to the scanner. */
static int take_path(SnapshotReader *reader, Span key) {
        size_t n_before = reader->names.n, number;
        int r;

        buffer_clear(&reader->name);
        r = append_name(&reader->name, key);
        if (r == 0)
                r = name_set_add(&reader->names, buffer_span(&reader->name), &number);
        if (r != 0)
                return r;
        return number < n_before ? fail(reader, "a cgroup is there twice") : 0;
}

static int read_cgroups(SnapshotReader *reader) {
        Span key;
        int r;

        r = json_scanner_expect(reader->scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                r = json_scanner_member(reader->scanner, &key);
                if (r != 0 || !key.bytes)
                        return r;
                r = take_path(reader, key);
                if (r == 0)
                        r = json_scanner_expect(reader->scanner, JSON_TOKEN_OBJECT);
                if (r == 0)
                        r = take_object(reader);
                if (r == 0 && reader->visitor->on_cgroup)
                        r = err_fold(reader->visitor->on_cgroup(reader->userdata,
                                                                buffer_span(&reader->name),
                                                                buffer_span(&reader->value)));
        }
        return r;
}

static int read_sources(SnapshotReader *reader) {
        SourceTable sources;
        int r;

        r = source_table_scan_json(reader->scanner, &sources);
        if (r != 0 || !reader->visitor->on_sources)
                return r;
        return err_fold(reader->visitor->on_sources(reader->userdata, &sources));
}

/* members */

static int read_version(SnapshotReader *reader) {
        int r;

        r = json_scanner_u64(reader->scanner, &reader->version);
        if (r != 0)
                return r;
        reader->has_version = true;
        reader->is_too_new = reader->version > HEAD_FORMAT_VERSION;
        return reader->is_too_new ? fail(reader, "newer than this program reads") : 0;
}

static int read_captured(SnapshotReader *reader) {
        return json_scanner_u64(reader->scanner, &reader->captured_realtime_ns);
}

/* Members that the head repeats; here only their types count. */
static int check_text(SnapshotReader *reader) {
        return json_scanner_expect(reader->scanner, JSON_TOKEN_STRING);
}

static int check_number(SnapshotReader *reader) {
        return json_scanner_u64(reader->scanner, &(uint64_t){ 0 });
}

static int check_bool(SnapshotReader *reader) {
        return json_scanner_bool(reader->scanner, &(bool){ false });
}

static int read_end(SnapshotReader *reader) {
        Span key;
        int r;

        r = json_scanner_expect(reader->scanner, JSON_TOKEN_OBJECT);
        while (r == 0) {
                r = json_scanner_member(reader->scanner, &key);
                if (r != 0 || !key.bytes)
                        return r;
                if (span_is(key, "threads")) {
                        reader->has_end_threads = true;
                        r = json_scanner_u64(reader->scanner, &reader->end_threads);
                } else if (span_is(key, "processes")) {
                        reader->has_end_processes = true;
                        r = json_scanner_u64(reader->scanner, &reader->end_processes);
                } else if (span_is(key, "endRealtimeNs") || span_is(key, "endBoottimeNs") ||
                           span_is(key, "taskstatsVersion")) {
                        r = check_number(reader);
                } else if (span_is(key, "backend")) {
                        r = check_text(reader);
                } else if (span_is(key, "complete")) {
                        r = check_bool(reader);
                } else {
                        r = json_scanner_skip(reader->scanner);
                }
        }
        return r;
}

static const struct {
        const char *key;
        int (*read)(SnapshotReader *reader);
} members[] = {
        { "formatVersion", read_version },
        { "captured_at_unix_ns", read_captured },
        { "toolVersion", check_text },
        { "hostName", check_text },
        { "machineId", check_text },
        { "bootId", check_text },
        { "kernelRelease", check_text },
        { "startRealtimeNs", check_number },
        { "startBoottimeNs", check_number },
        { "user_hz", check_number },
        { "page_size", check_number },
        { "smapsRequested", check_bool },
        { "host", read_host },
        { "threads", begin_threads },
        { "cgroup_stats", read_cgroups },
        { "psi", read_psi },
        { "sched_ext", read_sched_ext },
        { "sources", read_sources },
        { "end", read_end },
};

/* What only the whole document can tell. */
static int end_document(SnapshotReader *reader) {
        if (!reader->has_threads)
                return fail(reader, "the member \"threads\" is missing");
        if (reader->is_table && reader->version == 0)
                return fail(reader, "the member \"formatVersion\" is missing");
        if (!reader->is_table && reader->version > 0)
                return fail(reader, "the threads do not have the shape of the format version");
        if (reader->has_end_threads && reader->end_threads != reader->n_threads)
                return fail(reader, "the end tells another number of threads");
        if (reader->has_end_processes && reader->end_processes != reader->n_processes)
                return fail(reader, "the end tells another number of processes");
        return 0;
}

static int begin_document(SnapshotReader *reader) {
        reader->place = PLACE_DOCUMENT;
        return json_scanner_expect(reader->scanner, JSON_TOKEN_OBJECT);
}

static int read_member(SnapshotReader *reader) {
        JsonToken token;
        Span key;
        int r;

        reader->member[0] = '\0';
        r = json_scanner_member(reader->scanner, &key);
        if (r != 0)
                return r;
        if (!key.bytes) {
                reader->place = PLACE_END;
                r = json_scanner_next(reader->scanner, &token);
                return r == 0 ? end_document(reader) : r;
        }
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (span_is(key, members[i].key)) {
                        (void) snprintf(reader->member, sizeof(reader->member), "%s",
                                        members[i].key);
                        return members[i].read(reader);
                }
        return json_scanner_skip(reader->scanner);
}

/* Reads on, until there is a thread or the document ends. */
static int read_on(SnapshotReader *reader) {
        static int (*const steps[PLACE_END])(SnapshotReader *) = {
                [PLACE_START] = begin_document,    [PLACE_DOCUMENT] = read_member,
                [PLACE_TABLE] = read_table_member, [PLACE_ROWS] = read_row,
                [PLACE_OBJECTS] = read_object,
        };
        int r = 0;

        reader->has_thread = false;
        while (r == 0 && !reader->has_thread && reader->place != PLACE_END)
                r = steps[reader->place](reader);
        return r;
}

/* "threads, row 17, wait_sum: a string is expected" */
static void complain(SnapshotReader *reader) {
        const char *what = json_scanner_complaint(reader->scanner);
        ThreadColumn column = reader->thread.column;
        char where[96] = "";

        if (reader->is_in_thread)
                (void) snprintf(where, sizeof(where), ", number %" PRIu64 "%s%s",
                                reader->n_threads + 1, column < _COLUMN_MAX ? ", " : "",
                                column < _COLUMN_MAX ? thread_column_name(column) : "");
        (void) snprintf(reader->complaint, sizeof(reader->complaint), "%s%s%s%s", reader->member,
                        where, reader->member[0] != '\0' ? ": " : "", what);
}

int snapshot_reader_next(SnapshotReader *reader, const SnapshotVisitor *visitor, void *userdata,
                         const ThreadSample **ret_sample, Span *ret_smaps_json) {
        int r;

        reader->visitor = visitor;
        reader->userdata = userdata;
        r = read_on(reader);
        if (r == JSON_E_MALFORMED) {
                complain(reader);
                return reader->is_too_new ? SNAPSHOT_E_TOO_NEW : SNAPSHOT_E_MALFORMED;
        }
        if (r != 0)
                return err_fold(r);
        *ret_sample = reader->has_thread ? &reader->thread.sample : NULL;
        *ret_smaps_json = reader->has_thread ? thread_reader_smaps(&reader->thread) : (Span){};
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
