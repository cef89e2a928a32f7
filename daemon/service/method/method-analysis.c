/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message-object.h"

int method_analysis(Request *request) {
        static const Stage streamed = { .tells_progress = true }, single = {};
        const OrderDoor door = request_door(request);
        OrderMethod method = order_method_find(request->method->name);
        _cleanup_(freep) Order *order = request_new_order(request, method);
        int r;

        if (!order)
                return -ENOMEM;
        r = order_decode(&door, request->parameters, order);
        if (r != 0)
                return r;
        return request_submit(request, order, QUEUE_READING,
                              method == ORDER_INFO ? &single : &streamed);
}

/* verify */

/*
 * A spool may have more files than one call may have descriptors: jobs take some of the names one
 * after the other, and their replies together are the reply to the call.
 */
typedef struct Verification {
        char (*names)[SNAPSHOT_NAME_MAX_CHARS + 1];
        size_t n_names;
        size_t n_passed; /* to jobs */
        Buffer text;     /* without "more": the single reply, as far as it is known */
        JsonWriter writer;
} Verification;

static void verification_release(Request *request) {
        Verification *verification = request->state;

        buffer_done(&verification->text);
        free(verification->names);
}

static int pass_some(Request *request);

static int answer_all(Request *request) {
        Verification *verification = request->state;
        int r;

        json_write_end(&verification->writer);
        json_write_end(&verification->writer);
        r = json_writer_finish(&verification->writer);
        if (r == -EMSGSIZE)
                return request_fail(request, WIRE_ERROR_EXPECTED_MORE, NULL);
        if (r < 0)
                return r;
        return request_answer(request, buffer_span(&verification->text), NULL, 0);
}

/* The last reply of a job, which is not the last of the call unless it is passed on as it is. */
static int on_some(Request *request, const JobReply *reply) {
        _cleanup_(message_object_freep) json_object *parameters = NULL;
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        Verification *verification = request->state;
        json_object *results = NULL;
        int r = 0;

        if (reply->kind != PACKET_LAST)
                return -EBADMSG;
        if (request->more && verification->n_passed == verification->n_names)
                return request_forward(request, reply);
        if (request->more) {
                connection_continue(request->connection, reply->body);
        } else {
                r = request_parse(reply->body, &parameters);
                if (r < 0)
                        return r;
                results = json_object_object_get(parameters, "results");
                if (!json_object_is_type(results, json_type_array))
                        return -EBADMSG;
        }
        for (size_t i = 0; results && i < json_object_array_length(results) && r == 0; i++) {
                buffer_clear(&text);
                r = message_append_object(&text, json_object_array_get_idx(results, i));
                if (r == 0)
                        json_write_raw(&verification->writer, buffer_span(&text));
        }
        if (r != 0)
                return r;
        return verification->n_passed < verification->n_names ? pass_some(request)
                                                              : answer_all(request);
}

static int pass_some(Request *request) {
        static const Stage stage = { .on_result = on_some };
        Verification *verification = request->state;
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_VERIFY);
        AnalysisOrder *analysis;
        int r = 0;

        if (!order)
                return -ENOMEM;
        analysis = &order->analysis;
        while (verification->n_passed < verification->n_names &&
               analysis->n[0] < LIMIT_SNAPSHOTS_PER_CALL) {
                const char *name = verification->names[verification->n_passed++];
                OrderFile *file = &analysis->subjects[analysis->n[0]].from;
                int fd;

                r = spool_open_snapshot(request->manager->spool, name, &fd, NULL);
                if (r == SPOOL_E_NOT_FOUND)
                        continue; /* it was removed since the list was made */
                if (r != 0)
                        return request_fail_spool(request, name, r);
                analysis->n[0]++;
                r = order_set_label(analysis, file, name) ? request_add_fd(request, fd, &file->fd)
                                                          : -E2BIG;
                if (r != 0)
                        return r;
        }
        return analysis->n[0] > 0 ? request_submit(request, order, QUEUE_READING, &stage)
                                  : answer_all(request);
}

int method_verify(Request *request) {
        static const Stage stage = {};
        const OrderDoor door = request_door(request);
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_VERIFY);
        const SpoolView *view = request_view(request);
        Verification *verification;
        int r;

        if (!order)
                return -ENOMEM;
        r = order_decode(&door, request->parameters, order);
        if (r != 0)
                return r;
        if (order->analysis.n[0] > 0)
                return request_submit(request, order, QUEUE_READING, &stage);

        /* All of the spool. */
        verification = request_keep(request, sizeof(*verification), verification_release);
        if (!verification)
                return -ENOMEM;
        buffer_init(&verification->text, LIMIT_REPLY_BYTES / 2);
        json_writer_init(&verification->writer, &verification->text);
        json_write_object(&verification->writer);
        json_write_key(&verification->writer, "results");
        json_write_array(&verification->writer);
        if (request->manager->spool->dir_fd < 0)
                return request_fail_spool(request, "", SPOOL_E_UNAVAILABLE);
        verification->names = calloc(view->n + 1, sizeof(*verification->names));
        if (!verification->names)
                return -ENOMEM;
        for (size_t i = 0; i < view->n; i++)
                memcpy(verification->names[i], view->entries[i]->name,
                       sizeof(verification->names[i]));
        verification->n_names = view->n;
        r = request_hold(request,
                         (view->n + 1) * sizeof(*verification->names) + LIMIT_REPLY_BYTES / 2);
        return r == 0 ? pass_some(request) : r;
}
