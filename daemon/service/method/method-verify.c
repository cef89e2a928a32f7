/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/request/order.h"
#include "service/request/reference.h"
#include "wire/message.h"
#include "wire/message-object.h"

typedef struct VerifyFields {
        json_object *snapshots;
} VerifyFields;

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

static void verification_free(void *state) {
        Verification *verification = state;

        buffer_done(&verification->text);
        free(verification->names);
        free(verification);
}

static int verification_new(Request *request, Verification **ret) {
        Verification *verification = calloc(1, sizeof(*verification));

        if (!verification)
                return -ENOMEM;
        buffer_init(&verification->text, LIMIT_REPLY_BYTES / 2);
        json_writer_init(&verification->writer, &verification->text);
        json_write_object(&verification->writer);
        json_write_key(&verification->writer, "results");
        json_write_array(&verification->writer);
        request_keep(request, verification, verification_free);
        *ret = verification;
        return 0;
}

static int submit(Request *request, JsonWriter *writer, const Stage *stage) {
        return request_submit(request, writer, request->method->name, QUEUE_READING, JOB_ANALYSIS,
                              stage);
}

/* all of the spool */

static int keep_names(Request *request, Verification *verification) {
        const SpoolView *view = request_view(request);
        size_t n = view->n;

        if (spool_dir_fd(request->desk->spool) < 0)
                return request_fail_spool(request, "", SPOOL_E_UNAVAILABLE);
        verification->names = calloc(n + 1, sizeof(*verification->names));
        for (size_t i = 0; i < n && verification->names; i++)
                memcpy(verification->names[i], view->entries[i]->name,
                       sizeof(verification->names[i]));
        verification->n_names = n;
        if (!verification->names)
                return -ENOMEM;
        return request_hold(request,
                            (n + 1) * sizeof(*verification->names) + LIMIT_REPLY_BYTES / 2);
}

/* A snapshot that was removed since the list was made is skipped. */
static int pass_name(Request *request, JsonWriter *writer, const char *name) {
        Reference reference = { .fd = -EBADF, .label = name };
        int r;

        r = spool_open_snapshot(request->desk->spool, name, &reference.fd, NULL);
        if (r == SPOOL_E_NOT_FOUND)
                return 0;
        if (r != 0)
                return request_fail_spool(request, name, r);
        return reference_write(request, writer, &reference);
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

static int keep_results(Verification *verification, json_object *results) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        int r = 0;

        for (size_t i = 0; i < json_object_array_length(results) && r == 0; i++) {
                buffer_clear(&text);
                r = message_append_object(&text, json_object_array_get_idx(results, i));
                if (r == 0)
                        json_write_raw(&verification->writer, buffer_span(&text));
        }
        return r;
}

/* Passes on the last reply of a job, which is not the last of the call. */
static int take_results(Request *request, json_object *parameters) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        json_object *results = json_object_object_get(parameters, "results");
        int r;

        if (!json_object_is_type(results, json_type_array))
                return -EBADMSG;
        if (!request->more)
                return keep_results(request->state, results);
        r = message_append_object(&text, parameters);
        if (r == 0)
                connection_continue(request->connection, buffer_span(&text));
        return r;
}

static int on_some(Request *request, Span frame) {
        Verification *verification = request->state;
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Reply reply;
        int r;

        if (request->more && verification->n_passed == verification->n_names)
                return request_forward(request, frame);
        r = reply_decode(frame, &reply, complaint);
        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        r = take_results(request, reply.parameters);
        reply_done(&reply);
        if (r != 0)
                return r;
        return verification->n_passed < verification->n_names ? pass_some(request)
                                                              : answer_all(request);
}

static int pass_some(Request *request) {
        static const Stage stage = { .on_result = on_some };
        Verification *verification = request->state;
        JsonWriter writer;
        int r = 0;

        request_begin_order(request, &writer);
        json_write_key(&writer, "snapshots");
        json_write_array(&writer);
        while (r == 0 && verification->n_passed < verification->n_names &&
               request->n_fds < LIMIT_SNAPSHOTS_PER_CALL)
                r = pass_name(request, &writer, verification->names[verification->n_passed++]);
        json_write_end(&writer);
        if (r != 0)
                return r;
        return request->n_fds > 0 ? submit(request, &writer, &stage) : answer_all(request);
}

/* snapshots that the call names */

static int pass_references(Request *request, json_object *references) {
        static const Stage stage = {};
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        r = reference_pass_all(request, &writer, "snapshots", references);
        return r == 0 ? submit(request, &writer, &stage) : r;
}

int method_verify(Request *request) {
        static const Parameter table[] = {
                { "snapshots", PARAMETER_OBJECTS, true, offsetof(VerifyFields, snapshots) },
        };
        Verification *verification;
        VerifyFields fields = { .snapshots = NULL };
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        if (json_object_array_length(fields.snapshots) > 0)
                return pass_references(request, fields.snapshots);
        r = verification_new(request, &verification);
        if (r == 0)
                r = keep_names(request, verification);
        return r == 0 ? pass_some(request) : r;
}
