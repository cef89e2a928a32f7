/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonText
 *
 * The output of a writing function as a C string that is valid until the next call.
 */

#include <check.h>

#include "json/json-writer.h"

static Buffer json_text_buffer;

static inline JsonWriter *json_text_begin(JsonWriter *writer) {
        buffer_done(&json_text_buffer);
        buffer_init(&json_text_buffer, 0);
        json_writer_init(writer, &json_text_buffer);
        return writer;
}

static inline const char *json_text_end(JsonWriter *writer) {
        const char *text;

        ck_assert_int_eq(json_writer_finish(writer), 0);
        ck_assert_int_eq(buffer_terminate(&json_text_buffer, &text), 0);
        return text;
}
