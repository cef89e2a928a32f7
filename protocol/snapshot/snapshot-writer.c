/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/snapshot-writer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

/* Small members gather here before they go to the sink; rows go past it. */
#define FLUSH_BYTES (64 * 1024)

struct SnapshotWriter {
        SnapshotSink sink;
        void *userdata;
        Buffer pending;
        JsonWriter json; /* writes to @pending */

        size_t at;    /* the section that is open or comes next */
        bool is_open; /* a map or a table */
        bool has_rows;
};

int snapshot_writer_new(SnapshotSink sink, void *userdata, SnapshotWriter **ret) {
        SnapshotWriter *writer;

        writer = malloc(sizeof(*writer));
        if (!writer)
                return -ENOMEM;
        *writer = (SnapshotWriter){ .sink = sink, .userdata = userdata };
        json_writer_init(&writer->json, &writer->pending);
        *ret = writer;
        return 0;
}

SnapshotWriter *snapshot_writer_free(SnapshotWriter *writer) {
        if (!writer)
                return NULL;
        buffer_done(&writer->pending);
        free(writer);
        return NULL;
}

/* Hands the buffered text to the sink once it has at least @threshold bytes. */
static int flush(SnapshotWriter *writer, size_t threshold) {
        int r;

        if (writer->json.error != 0)
                return writer->json.error;
        if (writer->pending.n < threshold || writer->pending.n == 0)
                return 0;
        r = writer->sink(writer->userdata, writer->pending.bytes, writer->pending.n);
        if (r == 0)
                buffer_clear(&writer->pending);
        return r;
}

/* sections */

/* Opens section @id where it is not open; sections before it that were left out become empty. */
static void go_to_section(SnapshotWriter *writer, size_t id) {
        JsonWriter *json = &writer->json;

        while (!writer->is_open || writer->at != id) {
                const DocumentSection *section = &snapshot_sections[writer->at];

                if (writer->is_open) {
                        if (section->shape == DOCUMENT_TABLE)
                                json_write_end(json);
                        json_write_end(json);
                        writer->is_open = false;
                        writer->at++;
                        continue;
                }
                assert(writer->at <= id && id <= _SNAPSHOT_SECTION_MAX);
                if (writer->at == _SNAPSHOT_SECTION_MAX)
                        return;
                json_write_key(json, section->name);
                writer->has_rows = false;
                if (section->shape == DOCUMENT_OBJECT) {
                        if (writer->at == id) /* the caller writes it */
                                return;
                        json_write_null(json);
                        writer->at++;
                        continue;
                }
                writer->is_open = true;
                json_write_object(json);
                if (section->shape == DOCUMENT_TABLE) {
                        json_write_key(json, "columns");
                        json_write_array(json);
                        section->write_columns(json);
                        json_write_end(json);
                        json_write_key(json, "rows");
                        json_write_array(json);
                }
        }
}

int snapshot_writer_begin(SnapshotWriter *writer, const Head *head) {
        json_write_object(&writer->json);
        head_write_members(&writer->json, head, HEAD_START);
        return flush(writer, FLUSH_BYTES);
}

int snapshot_writer_object(SnapshotWriter *writer, size_t section, Span json) {
        go_to_section(writer, section);
        assert(!writer->is_open);
        if (json.n == 0)
                json_write_null(&writer->json);
        else
                json_write_raw(&writer->json, json);
        writer->at++;
        return flush(writer, FLUSH_BYTES);
}

int snapshot_writer_rows(SnapshotWriter *writer, size_t section, Span rows) {
        int r;

        go_to_section(writer, section);
        assert(snapshot_sections[section].shape == DOCUMENT_TABLE);
        if (rows.n == 0)
                return flush(writer, FLUSH_BYTES);
        r = flush(writer, 0);
        if (r == 0 && writer->has_rows)
                r = writer->sink(writer->userdata, ",", 1);
        if (r < 0)
                return r;
        writer->has_rows = true;
        return writer->sink(writer->userdata, rows.bytes, rows.n);
}

int snapshot_writer_entry(SnapshotWriter *writer, size_t section, Span name, Span json) {
        go_to_section(writer, section);
        assert(snapshot_sections[section].shape == DOCUMENT_MAP);
        json_write_key_name(&writer->json, name);
        json_write_raw(&writer->json, json);
        return flush(writer, FLUSH_BYTES);
}

int snapshot_writer_end(SnapshotWriter *writer, const SourceTable *sources, const Head *head) {
        JsonWriter *json = &writer->json;
        int r;

        go_to_section(writer, _SNAPSHOT_SECTION_MAX);
        json_write_key(json, "sources");
        source_table_write_json(json, sources);
        json_write_key(json, "end");
        json_write_object(json);
        head_write_members(json, head, HEAD_END);
        json_write_end(json);
        json_write_end(json);

        r = json_writer_finish(json);
        return r < 0 ? r : flush(writer, 0);
}
