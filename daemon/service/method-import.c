/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "service/reference.h"
#include "wire/message.h"

/* Perhaps Info for a name, then a verified copy, then its publication: up to three jobs. */

typedef struct ImportFields {
        FieldU64 index;
        const char *tag, *label;
} ImportFields;

/*
 * The interface has nothing to say about what was rotated away, so only the snapshots are passed
 * on.
 */
static int on_published(Request *request, Span frame) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES },
                                      snapshots_text = { .max_bytes = LIMIT_REPLY_BYTES };
        json_object *whole, *snapshots;
        JsonWriter writer;
        int r;

        r = transfer_decode(frame, "snapshots", json_type_array, &whole, &snapshots);
        if (r < 0)
                return r;
        r = message_append_object(&snapshots_text, snapshots);
        json_object_put(whole);
        if (r < 0)
                return r;
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshots");
        json_write_raw(&writer, buffer_span(&snapshots_text));
        json_write_end(&writer);
        r = json_writer_finish(&writer);
        return r == 0 ? request_answer(request, buffer_span(&text), NULL, 0) : r;
}

static int on_copied(Request *request, Span frame) {
        static const Stage stage = { .on_result = on_published };
        Transfer *transfer = request->state;
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        r = request_add_spool(request, &writer);
        if (r == 0)
                r = request_add_fd(request, &writer, "file", TAKE_FD(transfer->file));
        if (r != 0)
                return r;
        json_write_member_text(&writer, "name", transfer->name);
        json_write_member_bool(&writer, "replace", false);
        json_write_member_u64(&writer, "uid", request->uid);
        request_write_limits(request, &writer);
        request->max_file_bytes = 0;
        return request_submit(request, &writer, JOB_INTERFACE ".Publish", QUEUE_ADDING, JOB_SPOOL,
                              &stage);
}

static int copy(Request *request) {
        static const Stage stage = { .on_result = on_copied };
        Transfer *transfer = request->state;
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        r = request_add_fd(request, &writer, "fileDescriptor", TAKE_FD(transfer->from));
        if (r == 0)
                r = transfer_add_output(request, &writer, transfer);
        if (r != 0)
                return r;
        json_write_member_text(&writer, "name", transfer->name);
        json_write_member_bool(&writer, "tagged", transfer->tagged);
        json_write_member_u64(&writer, "uid", request->uid);
        if (transfer->label)
                json_write_member_text(&writer, "label", transfer->label);
        return request_submit(request, &writer, JOB_INTERFACE ".Import", QUEUE_READING,
                              JOB_ANALYSIS, &stage);
}

/* As captures without a tag are named; milliseconds make it likely that it is free. */
static void name_by_time(char ret[static SNAPSHOT_NAME_MAX_CHARS + 1]) {
        struct timespec now;
        struct tm utc;
        size_t n;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        (void) gmtime_r(&now.tv_sec, &utc);
        n = strftime(ret, SNAPSHOT_NAME_MAX_CHARS, "%Y%m%dT%H%M%S", &utc);
        (void) snprintf(ret + n, SNAPSHOT_NAME_MAX_CHARS + 1 - n, ".%03ldZ",
                        now.tv_nsec / (long) NSEC_PER_MSEC);
}

/*
 * The file's own name when it is one, or the label it came with; then another one like it when it
 * is taken. Named by somebody it is, unless its head says that a machine did.
 */
static int choose_name(Request *request, json_object *head) {
        Transfer *transfer = request->state;
        json_object *own = json_object_object_get(head, "name");
        json_object *version = json_object_object_get(head, "formatVersion");
        char wanted[SNAPSHOT_NAME_MAX_CHARS + 1];
        const char *name = NULL;
        int r;

        if (json_object_is_type(own, json_type_string))
                name = json_object_get_string(own);
        if (name && !snapshot_name_complaint(span_of(name))) {
                memcpy(wanted, name, strlen(name) + 1);
                transfer->tagged = json_object_get_int64(version) == 0 ||
                                   json_object_get_boolean(json_object_object_get(head, "tagged"));
        } else {
                name_by_time(wanted);
        }
        r = spool_free_name(request_setup(request)->spool, wanted, transfer->name);
        return r == 0 ? 0 : request_fail_spool(request, wanted, r);
}

static int on_name_known(Request *request, Span frame) {
        json_object *whole, *head;
        int r;

        r = transfer_decode(frame, "snapshot", json_type_object, &whole, &head);
        if (r < 0)
                return r;
        r = choose_name(request, head);
        json_object_put(whole);
        return r == 0 ? copy(request) : r;
}

/* What a file says of itself is read by a job, like everything that is in it. */
static int ask_name(Request *request, const Transfer *transfer) {
        static const Stage stage = { .on_result = on_name_known };
        Reference reference = { .fd = fcntl(transfer->from, F_DUPFD_CLOEXEC, 0),
                                .label = transfer->label };
        JsonWriter writer;
        int r;

        if (reference.fd < 0)
                return -errno;
        request_begin_order(request, &writer);
        json_write_key(&writer, "snapshot");
        r = reference_write(request, &writer, &reference);
        if (r != 0)
                return r;
        return request_submit(request, &writer, PROFILER_INTERFACE ".Info", QUEUE_READING,
                              JOB_ANALYSIS, &stage);
}

/* A name that is taken costs no copy; in the end it is publishing that decides. */
static int check_tag(Request *request, const char *tag) {
        const char *complaint = snapshot_name_complaint(span_of(tag));
        const WireErrorDetail detail = { .subject = span_of(tag), .reason = complaint };
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        if (complaint)
                return request_fail(request, WIRE_ERROR_INVALID_NAME, &detail);
        r = spool_resolve(request_setup(request)->spool, span_of(tag), name);
        if (r == SPOOL_E_NOT_FOUND)
                return 0;
        return request_fail_spool(request, tag, r == 0 ? SPOOL_E_EXISTS : r);
}

int method_import(Request *request) {
        static const Field table[] = {
                { "fileDescriptor", FIELD_U64, true, offsetof(ImportFields, index) },
                { "tag", FIELD_TEXT, false, offsetof(ImportFields, tag) },
                { "label", FIELD_TEXT, false, offsetof(ImportFields, label) },
        };
        ImportFields fields = { .tag = NULL };
        Transfer *transfer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r == 0 && fields.tag)
                r = check_tag(request, fields.tag);
        if (r != 0)
                return r;
        r = transfer_new(request, &transfer);
        if (r < 0)
                return r;
        /* The parameters live as long as the request, and with them the label. */
        transfer->label = fields.label;
        transfer->from = connection_take_fd(request->connection, (size_t) fields.index.value);
        if (transfer->from < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "No such descriptor came with the call.");
        if (!fields.tag)
                return ask_name(request, transfer);
        memcpy(transfer->name, fields.tag, strlen(fields.tag) + 1);
        transfer->tagged = true;
        return copy(request);
}
