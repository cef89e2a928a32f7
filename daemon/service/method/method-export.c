/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "service/request/order.h"
#include "service/request/reference.h"
#include "service/request/reservation.h"
#include "service/request/transfer.h"
#include "wire/message-object.h"

typedef struct ExportFields {
        json_object *snapshot;
        const char *format;
} ExportFields;

/* Ends the object in @writer and answers with it and @fd, which is taken over. */
static int answer_with_file(Request *request, JsonWriter *writer, Buffer *text, int fd) {
        int r;

        json_write_member_u64(writer, "fileDescriptor", 0);
        json_write_end(writer);
        r = json_writer_finish(writer);
        if (r < 0) {
                (void) fd_close(fd);
                return r;
        }
        return request_answer(request, buffer_span(text), &fd, 1);
}

/* The file of the spool itself: no job has to read it, and the descriptor is read-only. */
static int export_file(Request *request, const char *key, Reference *reference) {
        const IndexEntry *entry;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;

        if (reference->name[0] == '\0')
                return request_refuse_parameter(
                        request, key, "Only a snapshot in the spool can be exported as it is.");
        entry = spool_view_find(request_view(request), span_of(reference->name));
        if (!entry)
                return request_fail_spool(request, reference->name, SPOOL_E_NOT_FOUND);
        if (entry->damaged)
                return request_fail(request, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                                    &(WireErrorDetail){
                                            .subject = span_of(reference->name),
                                            .reason = entry->text,
                                            .has_offset = entry->has_offset,
                                            .offset = entry->offset,
                                    });

        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        json_write_raw(&writer, (Span){ entry->text, entry->n_text });
        return answer_with_file(request, &writer, &text, TAKE_FD(reference->fd));
}

/* Reopen read-only: our descriptor is writable and the caller must not get it. */
static int reopen_to_read(int fd, int *ret) {
        char path[64];
        int reopened;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        reopened = open(path, O_RDONLY | O_CLOEXEC);
        if (reopened < 0)
                return -errno;
        *ret = reopened;
        return 0;
}

static int on_converted(Request *request, Span frame) {
        Transfer *transfer = request->state;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES },
                                      head_text = { .max_bytes = LIMIT_REPLY_BYTES };
        json_object *whole, *head;
        JsonWriter writer;
        int fd = -EBADF, r;

        r = transfer_decode(frame, "snapshot", json_type_object, &whole, &head);
        if (r < 0)
                return r;
        r = message_append_object(&head_text, head);
        json_object_put(whole);
        if (r == 0)
                r = reopen_to_read(transfer->file, &fd);
        if (r < 0)
                return r;
        r = reservation_lend(request, transfer->file);
        if (r < 0) {
                (void) fd_close(fd);
                return r;
        }
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        json_write_raw(&writer, buffer_span(&head_text));
        return answer_with_file(request, &writer, &text, fd);
}

/* The file is in memory, so all that can be full is its own bound. */
static int on_not_converted(Request *request, Span frame) {
        char complaint[MESSAGE_COMPLAINT_BYTES], reason[256];
        Reply reply;
        int r;

        r = reply_decode(frame, &reply, complaint);
        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        r = strcmp(reply.error, wire_error_name(WIRE_ERROR_SPOOL_FULL)) == 0;
        reply_done(&reply);
        if (r == 0)
                return request_forward_error(request, frame);
        (void) snprintf(reason, sizeof(reason),
                        "The converted snapshot is larger than %" PRIu64 " MiB, which is half of "
                        "the memory that your open exports leave; export it in the format ctprof.",
                        request->max_file_bytes >> 20);
        return request_fail(request, WIRE_ERROR_JOB_FAILED, &(WireErrorDetail){ .reason = reason });
}

static int export_converted(Request *request, Reference *reference, const char *format) {
        static const Stage stage = {
                .prepare = reservation_take_memory,
                .on_result = on_converted,
                .on_failure = on_not_converted,
        };
        Transfer *transfer;
        JsonWriter writer;
        int r;

        r = transfer_new(request, &transfer);
        if (r < 0)
                return r;
        request_begin_order(request, &writer);
        json_write_key(&writer, JOB_KEY_SNAPSHOT);
        r = reference_write(request, &writer, reference);
        if (r == 0)
                r = transfer_add_memory(request, &writer, transfer);
        if (r != 0)
                return r;
        json_write_member_text(&writer, JOB_KEY_FORMAT, format);
        return request_submit(request, &writer, JOB_METHOD_CONVERT, QUEUE_READING, JOB_ANALYSIS,
                              &stage);
}

int method_export(Request *request) {
        static const Parameter table[] = {
                { "snapshot", PARAMETER_OBJECT, true, offsetof(ExportFields, snapshot) },
                { "format", PARAMETER_TEXT, false, offsetof(ExportFields, format) },
        };
        ExportFields fields = { .format = "ctprof" };
        Reference reference = REFERENCE_NONE;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r == 0)
                r = reference_open(request, "snapshot", fields.snapshot, &reference);
        if (r != 0)
                return r;
        /* The job knows the other formats. */
        if (strcmp(fields.format, "ctprof") == 0)
                r = export_file(request, "snapshot", &reference);
        else
                r = export_converted(request, &reference, fields.format);
        reference_done(request, &reference);
        return r;
}
