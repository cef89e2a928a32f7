/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include "service/request/order.h"
#include "service/request/reference.h"
#include "wire/message-object.h"

#define MAX_PARTS 4

/*
 * A parameter that is passed on to the job. References are resolved here; the job checks the rest.
 */
typedef struct Part {
        const char *key;
        ParameterType type;
        bool required;
        /* Writes the member @key of the order. */
        int (*pass)(Request *request, JsonWriter *writer, const char *key, json_object *value);
} Part;

typedef struct PartValues {
        json_object *values[MAX_PARTS];
} PartValues;

typedef struct Analysis {
        bool streams; /* the answer has no bound: ExpectedMore without "more" */
        size_t n_parts;
        Part parts[MAX_PARTS];
} Analysis;

static int pass_value(Request *request, JsonWriter *writer, const char *key, json_object *value) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_CALL_BYTES };
        int r;

        r = message_append_object(&text, value);
        if (r < 0)
                return r;
        json_write_key(writer, key);
        json_write_raw(writer, buffer_span(&text));
        return 0;
}

static int decode(Request *request, const Analysis *analysis, PartValues *ret) {
        Parameter table[MAX_PARTS];

        for (size_t i = 0; i < analysis->n_parts; i++) {
                const Part *part = &analysis->parts[i];

                table[i] = (Parameter){ part->key, part->type, part->required,
                                        offsetof(PartValues, values) + i * sizeof(json_object *) };
        }
        return request_decode(request, table, analysis->n_parts, ret);
}

static int analyse(Request *request, const Analysis *analysis) {
        static const Stage streamed = { .tells_progress = true }, single = {};
        PartValues parts = { .values = { NULL } };
        JsonWriter writer;
        int r;

        r = decode(request, analysis, &parts);
        if (r != 0)
                return r;
        if (analysis->streams && !request->more)
                return request_fail(request, WIRE_ERROR_EXPECTED_MORE, NULL);
        request_begin_order(request, &writer);
        for (size_t i = 0; r == 0 && i < analysis->n_parts; i++)
                if (parts.values[i])
                        r = analysis->parts[i].pass(request, &writer, analysis->parts[i].key,
                                                    parts.values[i]);
        if (r != 0)
                return r;
        return request_submit(request, &writer, request->method->name, QUEUE_READING, JOB_ANALYSIS,
                              analysis->streams ? &streamed : &single);
}

int method_show(Request *request) {
        static const Analysis show = {
                .streams = true,
                .n_parts = 2,
                .parts = { { "snapshot", PARAMETER_OBJECT, true, reference_pass_subject },
                           { "view", PARAMETER_OBJECT, false, pass_value } },
        };

        return analyse(request, &show);
}

int method_compare(Request *request) {
        static const Analysis compare = {
                .streams = true,
                .n_parts = 3,
                .parts = { { "before", PARAMETER_OBJECT, true, reference_pass_subject },
                           { "after", PARAMETER_OBJECT, true, reference_pass_subject },
                           { "view", PARAMETER_OBJECT, false, pass_value } },
        };

        return analyse(request, &compare);
}

int method_compare_sets(Request *request) {
        static const Analysis compare_sets = {
                .streams = true,
                .n_parts = 4,
                .parts = { { "before", PARAMETER_OBJECTS, true, reference_pass_subjects },
                           { "after", PARAMETER_OBJECTS, true, reference_pass_subjects },
                           { "view", PARAMETER_OBJECT, false, pass_value },
                           { "alpha", PARAMETER_NUMBER, false, pass_value } },
        };

        return analyse(request, &compare_sets);
}

int method_info(Request *request) {
        static const Analysis info = {
                .n_parts = 1,
                .parts = { { "snapshot", PARAMETER_OBJECT, true, reference_pass } },
        };

        return analyse(request, &info);
}
