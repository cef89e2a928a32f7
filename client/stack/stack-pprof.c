/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/cell.h"

/* Without these limits, a hostile daemon could fill the memory of this process. */
#define MAX_FILES 65536u
#define MAX_LOCATIONS ((size_t) 1 << 24)
#define MAX_FRAMES 1024u /* the ones further out are left out */

#define PAGE_BYTES UINT64_C(4096)
#define NO_FILE UINT32_MAX

/* Numbers of fields in profile.proto. */
enum {
        PROFILE_SAMPLE_TYPE = 1,
        PROFILE_SAMPLE = 2,
        PROFILE_MAPPING = 3,
        PROFILE_LOCATION = 4,
        PROFILE_FUNCTION = 5,
        PROFILE_TEXT = 6,
        PROFILE_TIME_NS = 9,
        PROFILE_DURATION_NS = 10,
        PROFILE_DEFAULT_TYPE = 14,
        TYPE_TYPE = 1,
        TYPE_UNIT = 2,
        SAMPLE_LOCATION = 1,
        SAMPLE_VALUE = 2,
        SAMPLE_LABEL = 3,
        LABEL_KEY = 1,
        LABEL_TEXT = 2,
        MAPPING_ID = 1,
        MAPPING_START = 2,
        MAPPING_LIMIT = 3,
        MAPPING_PATH = 5,
        MAPPING_BUILD_ID = 6,
        MAPPING_HAS_FUNCTIONS = 7,
        LOCATION_ID = 1,
        LOCATION_MAPPING = 2,
        LOCATION_ADDRESS = 3,
        LOCATION_LINE = 4,
        LINE_FUNCTION = 1,
        FUNCTION_ID = 1,
        FUNCTION_NAME = 2,
        FUNCTION_SYSTEM_NAME = 3,
};

void stack_pprof_done(StackPprof *pprof) {
        if (pprof->is_open)
                (void) deflateEnd(&pprof->stream);
        buffer_done(&pprof->sample);
        buffer_done(&pprof->label);
        name_set_done(&pprof->texts);
        name_set_done(&pprof->keys);
        free(pprof->files);
}

static void fail(StackPprof *pprof, int error) {
        if (pprof->error == 0)
                pprof->error = error;
}

/* protocol buffers */

static void put_varint(Buffer *to, uint64_t value) {
        for (; value >= 0x80; value >>= 7)
                buffer_append_byte(to, (char) (unsigned char) (value | 0x80));
        buffer_append_byte(to, (char) value);
}

/* A number that is 0 is left out, as its reader takes it for that. */
static void put_number(Buffer *to, unsigned field, uint64_t value) {
        if (value == 0)
                return;
        put_varint(to, (uint64_t) field << 3);
        put_varint(to, value);
}

static void put_bytes(Buffer *to, unsigned field, Span bytes) {
        put_varint(to, (uint64_t) field << 3 | 2);
        put_varint(to, bytes.n);
        buffer_append(to, bytes.bytes, bytes.n);
}

/* gzip */

static void compress_more(StackPprof *pprof, Span bytes, int flush) {
        unsigned char space[16384];

        pprof->stream.next_in = (unsigned char *) (uintptr_t) bytes.bytes;
        pprof->stream.avail_in = (unsigned) bytes.n;
        do {
                size_t n;

                pprof->stream.next_out = space;
                pprof->stream.avail_out = sizeof(space);
                if (pprof->error != 0)
                        return;
                if (deflate(&pprof->stream, flush) == Z_STREAM_ERROR)
                        fail(pprof, -EIO);
                n = sizeof(space) - pprof->stream.avail_out;
                if (pprof->error == 0 && fwrite(space, 1, n, pprof->out) != n)
                        fail(pprof, errno > 0 ? -errno : -EIO);
        } while (pprof->stream.avail_out == 0);
}

/* Writes a field of the profile: the message in pprof->sample, which is empty again, or a text. */
static void write_field(StackPprof *pprof, unsigned field, Span bytes) {
        _cleanup_(buffer_done) Buffer head = {};

        put_varint(&head, (uint64_t) field << 3 | 2);
        put_varint(&head, bytes.n);
        fail(pprof, buffer_failure(&head));
        fail(pprof, buffer_failure(&pprof->sample));
        if (pprof->error == 0)
                compress_more(pprof, buffer_span(&head), Z_NO_FLUSH);
        if (pprof->error == 0)
                compress_more(pprof, bytes, Z_NO_FLUSH);
}

static void write_message(StackPprof *pprof, unsigned field) {
        write_field(pprof, field, buffer_span(&pprof->sample));
        buffer_clear(&pprof->sample);
}

/* what is referred to */

static uint32_t text_number(StackPprof *pprof, Span text) {
        size_t number = 0;
        int r = name_set_add(&pprof->texts, text, &number);

        if (r == 0 && number >= UINT32_MAX)
                r = -EMSGSIZE;
        fail(pprof, r);
        return r == 0 ? (uint32_t) number : 0;
}

/* Numbers of locations begin with 1. */
static uint64_t location_number(StackPprof *pprof, json_object *name, json_object *position) {
        PprofLocation location = { .function = text_number(pprof, cell_string(name)),
                                   .file = NO_FILE };
        size_t number = 0;
        int r;

        if (json_object_is_type(position, json_type_array)) {
                uint64_t file = json_object_get_uint64(cell_element(position, 0));
                uint64_t offset = json_object_get_uint64(cell_element(position, 1));

                /* A place that no file can have is none. */
                if (file < pprof->n_files - 1 && offset < (uint64_t) INT64_MAX / MAX_FILES) {
                        location.file = (uint32_t) file + 1;
                        location.offset = offset;
                        pprof->files[file + 1].end = MAX_OF(pprof->files[file + 1].end, offset + 1);
                }
        }
        r = name_set_add(&pprof->keys, (Span){ (const char *) &location, sizeof(location) },
                         &number);
        if (r == 0 && number >= MAX_LOCATIONS)
                r = -EMSGSIZE;
        fail(pprof, r);
        return number + 1;
}

static void put_type(StackPprof *pprof, const char *type, const char *unit) {
        put_number(&pprof->sample, TYPE_TYPE, text_number(pprof, span_of(type)));
        put_number(&pprof->sample, TYPE_UNIT, text_number(pprof, span_of(unit)));
        write_message(pprof, PROFILE_SAMPLE_TYPE);
}

int stack_pprof_begin(StackPprof *pprof, FILE *out, json_object *first) {
        json_object *files = cell_member(first, "files");
        size_t n = cell_length(files);

        pprof->out = out;
        if (n > MAX_FILES)
                return -EMSGSIZE;
        /* 16 more bits of the window: a gzip file. */
        if (deflateInit2(&pprof->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK)
                return -ENOMEM;
        pprof->is_open = true;
        pprof->files = calloc(n + 1, sizeof(*pprof->files));
        if (!pprof->files)
                return -ENOMEM;
        (void) text_number(pprof, (Span){ "", 0 });
        /* pprof takes the first file for the program that the profile is of, which it names. */
        pprof->files[pprof->n_files++].path = text_number(
                pprof, cell_string(cell_member(cell_member(first, "snapshot"), "name")));
        for (size_t i = 0; i < n; i++) {
                json_object *file = cell_element(files, i);

                pprof->files[pprof->n_files++] = (PprofFile){
                        .path = text_number(pprof, cell_string(cell_member(file, "path"))),
                        .build_id = text_number(pprof, cell_string(cell_member(file, "buildId"))),
                };
        }
        put_type(pprof, "samples", "count");
        put_type(pprof, "time", "nanoseconds");
        return pprof->error;
}

int stack_pprof_add(StackPprof *pprof, json_object *stack) {
        /* Not all readers have a name for a place: it is the reason of all waits. */
        static const struct {
                const char *key, *member;
        } labels[] = { { "thread", "thread" }, { "process", "process" }, { "reason", "place" } };
        json_object *frames = cell_member(stack, "frames"),
                    *positions = cell_member(stack, "positions");
        size_t n = cell_length(frames), skip = n > MAX_FRAMES ? n - MAX_FRAMES : 0;
        Buffer *packed = &pprof->label;

        buffer_clear(packed);
        /* The innermost comes first there. */
        for (size_t i = n; i-- > skip;)
                put_varint(packed, location_number(pprof, cell_element(frames, i),
                                                   cell_element(positions, i)));
        put_bytes(&pprof->sample, SAMPLE_LOCATION, buffer_span(packed));
        buffer_clear(packed);
        put_varint(packed, cell_u64(stack, "samples"));
        put_varint(packed, MIN_OF(cell_u64(stack, "ns"), (uint64_t) INT64_MAX));
        put_bytes(&pprof->sample, SAMPLE_VALUE, buffer_span(packed));
        for (size_t i = 0; i < ELEMENTSOF(labels); i++) {
                buffer_clear(packed);
                put_number(packed, LABEL_KEY, text_number(pprof, span_of(labels[i].key)));
                put_number(packed, LABEL_TEXT,
                           text_number(pprof, cell_string(cell_member(stack, labels[i].member))));
                put_bytes(&pprof->sample, SAMPLE_LABEL, buffer_span(packed));
        }
        fail(pprof, buffer_failure(packed));
        write_message(pprof, PROFILE_SAMPLE);
        return pprof->error;
}

/* Each file begins at a page of its own. */
static void write_files(StackPprof *pprof) {
        uint64_t start = PAGE_BYTES;

        for (size_t i = 0; i < pprof->n_files; i++) {
                PprofFile *file = &pprof->files[i];
                uint64_t limit = start + (file->end + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;

                put_number(&pprof->sample, MAPPING_ID, i + 1);
                put_number(&pprof->sample, MAPPING_START, start);
                put_number(&pprof->sample, MAPPING_LIMIT, limit);
                put_number(&pprof->sample, MAPPING_PATH, file->path);
                put_number(&pprof->sample, MAPPING_BUILD_ID, file->build_id);
                put_number(&pprof->sample, MAPPING_HAS_FUNCTIONS, true);
                write_message(pprof, PROFILE_MAPPING);
                file->start = start;
                start = limit;
        }
}

static void write_locations(StackPprof *pprof) {
        _cleanup_(freep) bool *has_function = calloc(pprof->texts.n + 1, sizeof(*has_function));

        if (!has_function) {
                fail(pprof, -ENOMEM);
                return;
        }
        for (size_t i = 0; i < pprof->keys.n && pprof->error == 0; i++) {
                Buffer *line = &pprof->label;
                PprofLocation location;
                uint64_t function;

                memcpy(&location, name_set_get(&pprof->keys, i).bytes, sizeof(location));
                function = location.function + UINT64_C(1);
                buffer_clear(line);
                put_number(line, LINE_FUNCTION, function);
                put_number(&pprof->sample, LOCATION_ID, i + 1);
                if (location.file != NO_FILE) {
                        put_number(&pprof->sample, LOCATION_MAPPING, location.file + UINT64_C(1));
                        put_number(&pprof->sample, LOCATION_ADDRESS,
                                   pprof->files[location.file].start + location.offset);
                }
                put_bytes(&pprof->sample, LOCATION_LINE, buffer_span(line));
                write_message(pprof, PROFILE_LOCATION);
                if (has_function[location.function])
                        continue;
                has_function[location.function] = true;
                put_number(&pprof->sample, FUNCTION_ID, function);
                put_number(&pprof->sample, FUNCTION_NAME, location.function);
                put_number(&pprof->sample, FUNCTION_SYSTEM_NAME, location.function);
                write_message(pprof, PROFILE_FUNCTION);
        }
}

int stack_pprof_end(StackPprof *pprof, json_object *first) {
        _cleanup_(buffer_done) Buffer facts = {};
        uint32_t kind = text_number(pprof, SPAN_LITERAL("time"));
        json_object *snapshot = cell_member(first, "snapshot");

        if (pprof->error != 0)
                return pprof->error;
        write_files(pprof);
        write_locations(pprof);
        for (size_t i = 0; i < pprof->texts.n && pprof->error == 0; i++)
                write_field(pprof, PROFILE_TEXT, name_set_get(&pprof->texts, i));
        put_number(&facts, PROFILE_TIME_NS, cell_u64(snapshot, "startRealtimeNs"));
        put_number(&facts, PROFILE_DURATION_NS, cell_u64(first, "elapsedNs"));
        put_number(&facts, PROFILE_DEFAULT_TYPE, kind);
        fail(pprof, buffer_failure(&facts));
        if (pprof->error == 0)
                compress_more(pprof, buffer_span(&facts), Z_FINISH);
        if (pprof->error == 0 && fflush(pprof->out) == EOF)
                fail(pprof, errno > 0 ? -errno : -EIO);
        return pprof->error;
}
