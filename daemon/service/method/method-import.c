/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <string.h>

#include "service/method/clean.h"
#include "service/request/order.h"
#include "service/request/reservation.h"
#include "service/request/transfer.h"

/*
 * Two jobs: one makes a verified copy, one publishes it. The name comes from the call, never from
 * the file: it is the tag, or else the label, which is what the caller calls the file.
 */

typedef struct ImportFields {
        OptionalU64 index;
        const char *tag, *label;
} ImportFields;

static int on_copied(Request *request, Span frame) {
        static const Stage stage = {};
        Transfer *transfer = request->state;
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        r = request_add_spool(request, &writer);
        if (r == 0)
                r = transfer_add_file(request, &writer, transfer, JOB_KEY_FILE);
        if (r == 0)
                r = request_add_roll(request, &writer);
        if (r != 0)
                return r;
        json_write_member_text(&writer, JOB_KEY_NAME, transfer->name);
        json_write_member_bool(&writer, JOB_KEY_REPLACE, false);
        json_write_member_u64(&writer, JOB_KEY_UID, request->uid);
        request_write_limits(request, &writer);
        reservation_end(request);
        clean_spool(request->desk);
        return request_submit(request, &writer, JOB_METHOD_PUBLISH, QUEUE_ADDING, JOB_SPOOL,
                              &stage);
}

/* The file is made when the job's turn has come: what waits reserves nothing. */
static int prepare(Request *request) {
        Transfer *transfer = request->state;
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        r = request_add_fd(request, &writer, JOB_KEY_FILE_DESCRIPTOR, TAKE_FD(transfer->from));
        if (r == 0)
                r = transfer_add_output(request, &writer, transfer);
        if (r != 0)
                return r;
        json_write_member_text(&writer, JOB_KEY_NAME, transfer->name);
        json_write_member_bool(&writer, JOB_KEY_TAGGED, true);
        json_write_member_u64(&writer, JOB_KEY_UID, request->uid);
        if (transfer->label)
                json_write_member_text(&writer, JOB_KEY_LABEL, transfer->label);
        return request_end_order(request, &writer, JOB_METHOD_IMPORT, JOB_ANALYSIS);
}

/* Refuses a taken name before anything is copied. Publishing checks again, and decides. */
static int check_name(Request *request, const char *wanted) {
        const char *complaint = snapshot_name_new_complaint(span_of(wanted));
        const WireErrorDetail detail = { .subject = span_of(wanted), .reason = complaint };
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        int r;

        if (complaint)
                return request_fail(request, WIRE_ERROR_INVALID_NAME, &detail);
        r = spool_resolve(request->desk->spool, span_of(wanted), name);
        if (r == SPOOL_E_NOT_FOUND)
                return 0;
        return request_fail_spool(request, wanted, r == 0 ? SPOOL_E_EXISTS : r);
}

int method_import(Request *request) {
        static const Stage stage = { .prepare = prepare, .on_result = on_copied };
        static const Parameter table[] = {
                { "fileDescriptor", PARAMETER_OPTIONAL_U64, true, offsetof(ImportFields, index) },
                { "tag", PARAMETER_TEXT, false, offsetof(ImportFields, tag) },
                { "label", PARAMETER_TEXT, false, offsetof(ImportFields, label) },
        };
        ImportFields fields = { .tag = NULL };
        Transfer *transfer;
        const char *name;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        name = fields.tag ? fields.tag : fields.label;
        if (r == 0 && name)
                r = check_name(request, name);
        if (r != 0)
                return r;
        r = transfer_new(request, &transfer);
        if (r < 0)
                return r;
        /* The label is borrowed from the parameters, which live as long as the request. */
        transfer->label = fields.label;
        transfer->from = request_take_fd(request, (size_t) fields.index.value);
        if (transfer->from < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "The call has no descriptor of a file with this "
                                                "number.");
        if (!name)
                return request_refuse_parameter(
                        request, "tag", "Give a tag or a label: the snapshot needs a name.");
        memcpy(transfer->name, name, strlen(name) + 1);
        return request_enqueue(request, QUEUE_READING, &stage);
}
