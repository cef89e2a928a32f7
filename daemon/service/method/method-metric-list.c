/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

int method_metric_list(Request *request) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = LIMIT_REPLY_BYTES };
        JsonWriter writer;
        int r;

        r = request_decode(request, NULL, 0, NULL);
        if (r != 0)
                return r;
        json_writer_init(&writer, &text);
        metric_list_write_json(&writer);
        r = json_writer_finish(&writer);
        return r == 0 ? request_answer(request, buffer_span(&text), NULL, 0) : r;
}
