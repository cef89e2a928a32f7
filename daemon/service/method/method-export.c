/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

typedef struct ExportFields {
        json_object *snapshot;
        const char *format;
} ExportFields;

/* The state: a file in memory that a job writes, and its caller gets; ours beside the job's own. */
static void conversion_release(Request *request) {
        int *file = request->state;

        (void) fd_close(*file);
}

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
static int export_file(Request *request, const char *name) {
        const IndexEntry *entry = spool_view_find(request_view(request), span_of(name));
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;

        if (!entry)
                return request_fail_spool(request, name, SPOOL_E_NOT_FOUND);
        if (entry->damaged)
                return request_fail(request, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                                    &(WireErrorDetail){
                                            .subject = span_of(name),
                                            .reason = entry->text,
                                            .has_offset = entry->has_offset,
                                            .offset = entry->offset,
                                    });

        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        json_write_raw(&writer, (Span){ entry->text, entry->n_text });
        request->n_fds = 0; /* of the order that is not sent */
        return answer_with_file(request, &writer, &text, request->fds[0]);
}

static int on_converted(Request *request, const JobReply *reply) {
        const int *file = request->state;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;
        char path[64];
        int fd, r;
        Span head;

        r = request_take_texts(reply, &head, 1);
        if (r < 0)
                return r;
        /* Our descriptor is writable and the caller must not get it. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", *file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = held_files_add(&request->manager->held, *file, request->uid);
        if (r < 0) {
                (void) fd_close(fd);
                return r;
        }
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshot");
        json_write_raw(&writer, head);
        return answer_with_file(request, &writer, &text, fd);
}

/* The file is in memory, so all that can be full is its own bound. */
static int on_not_converted(Request *request, WireError error, const WireErrorDetail *detail) {
        char reason[256];

        if (error != WIRE_ERROR_SPOOL_FULL)
                return request_fail(request, error, detail);
        (void) snprintf(reason, sizeof(reason),
                        "The converted snapshot is larger than %" PRIu64 " MiB, which is half of "
                        "the memory that your open exports leave; export it in the format ctprof.",
                        request->max_file_bytes >> 20);
        return request_refuse(request, WIRE_ERROR_JOB_FAILED, reason);
}

int method_export(Request *request) {
        static const Stage stage = {
                .prepare = request_reserve_memory,
                .on_result = on_converted,
                .on_failure = on_not_converted,
        };
        static const Parameter table[] = {
                { "snapshot", PARAMETER_OBJECT, true, offsetof(ExportFields, snapshot) },
                { "format", PARAMETER_TEXT, false, offsetof(ExportFields, format) },
        };
        const OrderDoor door = request_door(request);
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_CONVERT);
        ExportFields fields = { .format = "ctprof" };
        AnalysisOrder *analysis;
        OrderFile *file;
        int *output, r;

        if (!order)
                return -ENOMEM;
        analysis = &order->analysis;
        file = &analysis->subjects[analysis->n[0]++].from;
        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r == 0)
                r = order_decode_file(&door, "snapshot", fields.snapshot, analysis, file, NULL);
        if (r != 0)
                return r;
        if (strcmp(fields.format, "ctprof") == 0)
                return json_object_object_get(fields.snapshot, "name")
                               ? export_file(request, order_label(analysis, file))
                               : request_refuse_parameter(
                                         request, "snapshot",
                                         "Only a snapshot in the spool can be exported as it is.");
        r = order_set_format(&door, fields.format, analysis);
        if (r != 0)
                return r;
        output = request_keep(request, sizeof(*output), conversion_release);
        if (!output)
                return -ENOMEM;
        *output = -EBADF;
        r = held_file_new(output);
        if (r == 0)
                r = request_add_copy(request, *output, &analysis->output);
        return r == 0 ? request_submit(request, order, QUEUE_READING, &stage) : r;
}
