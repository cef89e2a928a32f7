/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include "service/request/order.h"
#include "service/request/reference.h"

/* The job checks that the snapshots exist and who owns them, under the lock of the spool. */

typedef struct ChangeFields {
        json_object *names;
        const char *name, *new_name;
} ChangeFields;

static const Stage change_stage = {};

/* Relative references are resolved here, all of a call against one view; the job gets names. */
static int write_reference(Request *request, JsonWriter *writer, const char *reference) {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        uint64_t back;
        int r;

        if (!snapshot_name_is_relative(span_of(reference), &back)) {
                json_write_text(writer, reference);
                return 0;
        }
        r = reference_find(request, reference, name);
        if (r == 0)
                json_write_text(writer, name);
        return r;
}

static int submit(Request *request, JsonWriter *writer, const char *method) {
        int r;

        json_write_member_u64(writer, JOB_KEY_UID, request->uid);
        r = request_add_spool(request, writer);
        if (r != 0)
                return r;
        return request_submit(request, writer, method, QUEUE_CHANGING, JOB_SPOOL, &change_stage);
}

int method_remove(Request *request) {
        static const Parameter table[] = {
                { "names", PARAMETER_TEXTS, true, offsetof(ChangeFields, names) },
        };
        ChangeFields fields = { .names = NULL };
        JsonWriter writer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        request_begin_order(request, &writer);
        json_write_key(&writer, JOB_KEY_NAMES);
        json_write_array(&writer);
        for (size_t i = 0; r == 0 && i < json_object_array_length(fields.names); i++)
                r = write_reference(
                        request, &writer,
                        json_object_get_string(json_object_array_get_idx(fields.names, i)));
        json_write_end(&writer);
        if (r != 0)
                return r;
        return submit(request, &writer, JOB_METHOD_REMOVE);
}

int method_rename(Request *request) {
        static const Parameter table[] = {
                { "name", PARAMETER_TEXT, true, offsetof(ChangeFields, name) },
                { "newName", PARAMETER_TEXT, true, offsetof(ChangeFields, new_name) },
        };
        ChangeFields fields = { .name = NULL };
        JsonWriter writer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        request_begin_order(request, &writer);
        json_write_key(&writer, JOB_KEY_NAME);
        r = write_reference(request, &writer, fields.name);
        if (r != 0)
                return r;
        json_write_member_text(&writer, JOB_KEY_NEW_NAME, fields.new_name);
        return submit(request, &writer, JOB_METHOD_RENAME);
}
