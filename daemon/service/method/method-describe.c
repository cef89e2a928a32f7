/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <string.h>

#include "config.h"

/* The methods that describe the daemon itself and need neither spool nor job. */

typedef struct DescriptionFields {
        const char *interface;
} DescriptionFields;

static const struct {
        const char *name;
        const char *text;
} interface_rows[] = {
        { VARLINK_SERVICE, varlink_service_text },
        { PROFILER_INTERFACE, profiler_interface_text },
};

int varlink_get_info(Request *request) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;
        int r;

        r = request_decode(request, NULL, 0, NULL);
        if (r != 0)
                return r;
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        json_write_member_text(&writer, "vendor", "ctprof");
        json_write_member_text(&writer, "product", "ctprofd");
        json_write_member_text(&writer, "version", CTPROF_VERSION);
        json_write_member_text(&writer, "url", "");
        json_write_key(&writer, "interfaces");
        json_write_array(&writer);
        for (size_t i = 0; i < ELEMENTSOF(interface_rows); i++)
                json_write_text(&writer, interface_rows[i].name);
        json_write_end(&writer);
        json_write_end(&writer);
        return request_answer_written(request, &writer);
}

int varlink_get_description(Request *request) {
        static const Parameter table[] = {
                { "interface", PARAMETER_TEXT, true, offsetof(DescriptionFields, interface) },
        };
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        DescriptionFields fields = { .interface = NULL };
        JsonWriter writer;
        int r;

        r = request_decode(request, table, ELEMENTSOF(table), &fields);
        if (r != 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(interface_rows); i++) {
                if (strcmp(interface_rows[i].name, fields.interface) != 0)
                        continue;
                json_writer_init(&writer, &text);
                json_write_object(&writer);
                json_write_member_text(&writer, "description", interface_rows[i].text);
                json_write_end(&writer);
                return request_answer_written(request, &writer);
        }
        return request_fail(request, WIRE_ERROR_INTERFACE_NOT_FOUND,
                            &(WireErrorDetail){ .subject = span_of(fields.interface) });
}

int method_metric_list(Request *request) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;
        int r;

        r = request_decode(request, NULL, 0, NULL);
        if (r != 0)
                return r;
        json_writer_init(&writer, &text);
        metric_list_write_json(&writer);
        return request_answer_written(request, &writer);
}
