/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "service/method/clean.h"
#include "service/request/reservation.h"

/*
 * Two jobs: one makes a verified copy, one publishes it. The name comes from the call, never from
 * the file: it is the tag, or else the label, which is what the caller calls the file.
 */

typedef struct ImportFields {
        OptionalU64 index;
        const char *tag, *label;
} ImportFields;

typedef struct Import {
        Request *request;
        const Spool *spool; /* borrowed; @file is there */
        int from;           /* owned; what to import */
        int file;           /* owned; the copy, ours beside those of the jobs */
        const char *label;  /* of the parameters, which live as long as the request */
        OrderName name;
} Import;

static void import_free(void *state) {
        Import *import = state;

        spool_discard(import->spool, import->file);
        (void) fd_close(import->file);
        (void) request_close_fd(import->request, import->from);
        free(import);
}

static int on_published(Request *request, const JobReply *reply) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        Span texts[3];
        JsonWriter writer;
        int r = request_take_texts(reply, texts, ELEMENTSOF(texts));

        if (r < 0)
                return r;
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_key(&writer, "snapshots");
        json_write_array(&writer);
        json_write_raw(&writer, texts[0]);
        json_write_end(&writer);
        request_write_rotated(&writer, (Span){}, texts[1]);
        json_write_end(&writer);
        return request_answer_written(request, &writer);
}

static int on_copied(Request *request, const JobReply *reply) {
        static const Stage stage = { .on_result = on_published };
        const Import *import = request->state;
        _cleanup_(order_freep) Order *order = request_new_order(request, ORDER_PUBLISH);
        int r;

        if (!order)
                return -ENOMEM;
        order->spool.name = import->name;
        order->spool.tagged = true;
        order->spool.uid = request->uid;
        r = request_add_spool(request, &order->spool.spool);
        if (r == 0)
                r = request_add_copy(request, import->file, &order->spool.file);
        if (r == 0)
                r = request_add_roll(request, &order->spool.spool);
        if (r != 0)
                return r;
        reservation_end(request);
        clean_spool(request->desk);
        return request_submit(request, order, QUEUE_ADDING, &stage);
}

/* The file is made when the job's turn has come: what waits reserves nothing. */
static int prepare(Request *request) {
        Import *import = request->state;
        _cleanup_(order_freep) Order *order = request_new_order(request, ORDER_IMPORT);
        AnalysisOrder *analysis;
        OrderFile *from;
        int r;

        if (!order)
                return -ENOMEM;
        analysis = &order->analysis;
        from = &analysis->subjects[analysis->n[0]++].from;
        analysis->name = import->name;
        analysis->uid = request->uid;
        r = request_add_fd(request, TAKE_FD(import->from), &from->fd);
        if (r != 0)
                return r;
        if (!order_set_label(analysis, from, import->label))
                return request_refuse_parameter(request, "label", "It is too long.");
        r = spool_temporary(request->desk->spool, &import->file);
        if (r != 0)
                return request_fail_spool(request, "", r);
        r = reservation_take_half(request, import->file);
        if (r == 0)
                r = request_add_copy(request, import->file, &analysis->output);
        return r == 0 ? request_set_order(request, order) : r;
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
        const char *name;
        Import *import;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        name = fields.tag ? fields.tag : fields.label;
        if (r == 0 && name)
                r = check_name(request, name);
        if (r != 0)
                return r;
        import = malloc(sizeof(*import));
        if (!import)
                return -ENOMEM;
        *import = (Import){
                .request = request,
                .spool = request->desk->spool,
                .from = request_take_fd(request, (size_t) fields.index.value),
                .file = -EBADF,
                .label = fields.label,
        };
        request_keep(request, import, import_free);
        if (import->from < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "The call has no descriptor of a file with this "
                                                "number.");
        if (!name)
                return request_refuse_parameter(
                        request, "tag", "Give a tag or a label: the snapshot needs a name.");
        memcpy(import->name.text, name, strlen(name) + 1);
        return request_enqueue(request, QUEUE_READING, &stage);
}
