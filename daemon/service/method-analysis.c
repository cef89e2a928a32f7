/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request.h"

#include "service/reference.h"
#include "wire/message.h"

typedef struct AnalysisFields {
        json_object *snapshot, *before, *after;
        json_object *view;
} AnalysisFields;

/* What is in a view is for the job to judge, which knows the metrics. */
static int pass_object(JsonWriter *writer, const char *key, json_object *object) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_CALL_BYTES };
        int r;

        if (!object)
                return 0;
        r = message_append_object(&text, object);
        if (r < 0)
                return r;
        json_write_key(writer, key);
        json_write_raw(writer, buffer_span(&text));
        return 0;
}

static int submit(Request *request, JsonWriter *writer, const Stage *stage) {
        return request_submit(request, writer, request->method->name, QUEUE_READING, JOB_ANALYSIS,
                              stage);
}

static const Stage streamed = { .tells_progress = true };
static const Stage single = {};

int method_show(Request *request) {
        static const Field table[] = {
                { "snapshot", FIELD_OBJECT, true, offsetof(AnalysisFields, snapshot) },
                { "view", FIELD_OBJECT, false, offsetof(AnalysisFields, view) },
        };
        AnalysisFields fields = { .snapshot = NULL };
        JsonWriter writer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        if (!request->more)
                return request_fail(request, WIRE_ERROR_EXPECTED_MORE, NULL);
        request_begin_order(request, &writer);
        r = reference_pass(request, &writer, "snapshot", fields.snapshot);
        if (r == 0)
                r = pass_object(&writer, "view", fields.view);
        return r == 0 ? submit(request, &writer, &streamed) : r;
}

int method_compare(Request *request) {
        static const Field table[] = {
                { "before", FIELD_OBJECT, true, offsetof(AnalysisFields, before) },
                { "after", FIELD_OBJECT, true, offsetof(AnalysisFields, after) },
                { "view", FIELD_OBJECT, false, offsetof(AnalysisFields, view) },
        };
        AnalysisFields fields = { .before = NULL };
        JsonWriter writer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        if (!request->more)
                return request_fail(request, WIRE_ERROR_EXPECTED_MORE, NULL);
        request_begin_order(request, &writer);
        r = reference_pass(request, &writer, "before", fields.before);
        if (r == 0)
                r = reference_pass(request, &writer, "after", fields.after);
        if (r == 0)
                r = pass_object(&writer, "view", fields.view);
        return r == 0 ? submit(request, &writer, &streamed) : r;
}

int method_info(Request *request) {
        static const Field table[] = {
                { "snapshot", FIELD_OBJECT, true, offsetof(AnalysisFields, snapshot) },
        };
        AnalysisFields fields = { .snapshot = NULL };
        JsonWriter writer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        request_begin_order(request, &writer);
        r = reference_pass(request, &writer, "snapshot", fields.snapshot);
        return r == 0 ? submit(request, &writer, &single) : r;
}
