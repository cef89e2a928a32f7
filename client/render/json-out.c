/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/json-out.h"

#include <errno.h>
#include <string.h>

#include "json/json-writer.h"
#include "wire/message-object.h"

void json_out_init(JsonOut *out, FILE *file, JsonStyle style) {
        *out = (JsonOut){ .file = file, .pretty = style == JSON_STYLE_PRETTY };
}

void json_out_done(JsonOut *out) {
        buffer_done(&out->scratch);
}

static void fail(JsonOut *out, int error) {
        if (out->error == 0)
                out->error = error;
}

static void put_bytes(JsonOut *out, Span text) {
        if (out->error == 0 && fwrite(text.bytes, 1, text.n, out->file) != text.n)
                fail(out, errno > 0 ? -errno : -EIO);
}

/*
 * In markup "<" and ">" are escaped, which a parser of HTML would misunderstand; they occur only
 * within strings. U+2028 and U+2029, which JavaScript takes for ends of lines, are escaped already:
 * they are hidden characters.
 */
static void put(JsonOut *out, Span text) {
        for (size_t n = 0; out->in_markup && n < text.n;) {
                char byte = text.bytes[n];

                if (byte != '<' && byte != '>') {
                        n++;
                        continue;
                }
                put_bytes(out, (Span){ text.bytes, n });
                put_bytes(out, byte == '<' ? SPAN_LITERAL("\\u003c") : SPAN_LITERAL("\\u003e"));
                text = (Span){ text.bytes + n + 1, text.n - n - 1 };
                n = 0;
        }
        put_bytes(out, text);
}

static void put_line(JsonOut *out) {
        if (!out->pretty)
                return;
        put(out, SPAN_LITERAL("\n"));
        for (unsigned i = 0; i < out->depth; i++)
                put(out, SPAN_LITERAL("  "));
}

/* Writes the separator of an element: nothing after a key, else a comma and a new line. */
static void begin_element(JsonOut *out) {
        if (out->after_key) {
                out->after_key = false;
                return;
        }
        if (out->depth == 0)
                return;
        if (out->filled[out->depth - 1])
                put(out, SPAN_LITERAL(","));
        out->filled[out->depth - 1] = true;
        put_line(out);
}

static void open_container(JsonOut *out, const char *opener, char closer) {
        begin_element(out);
        if (out->depth == JSON_OUT_MAX_DEPTH) {
                fail(out, -EMSGSIZE);
                return;
        }
        put(out, span_of(opener));
        out->closers[out->depth] = closer;
        out->filled[out->depth++] = false;
}

void json_out_object(JsonOut *out) {
        open_container(out, "{", '}');
}

void json_out_array(JsonOut *out) {
        open_container(out, "[", ']');
}

void json_out_end(JsonOut *out) {
        bool filled;

        if (out->depth == 0) {
                fail(out, -EINVAL);
                return;
        }
        filled = out->filled[--out->depth];
        if (filled)
                put_line(out);
        put(out, (Span){ &out->closers[out->depth], 1 });
}

/* Writes the content of the scratch buffer. */
static void put_scratch(JsonOut *out, int r) {
        if (r < 0)
                fail(out, r);
        else
                put(out, buffer_span(&out->scratch));
        buffer_clear(&out->scratch);
}

void json_out_key(JsonOut *out, const char *key) {
        JsonWriter writer;

        begin_element(out);
        json_writer_init(&writer, &out->scratch);
        json_write_span(&writer, span_of(key));
        put_scratch(out, json_writer_finish(&writer));
        put(out, out->pretty ? SPAN_LITERAL(": ") : SPAN_LITERAL(":"));
        out->after_key = true;
}

void json_out_value(JsonOut *out, json_object *value) {
        json_object_iter member;

        /* Do not fill a container that could not be opened. */
        if (out->error != 0)
                return;
        if (json_object_is_type(value, json_type_object) && out->pretty) {
                json_out_object(out);
                json_object_object_foreachC(value, member) {
                        json_out_key(out, member.key);
                        json_out_value(out, member.val);
                }
                json_out_end(out);
        } else if (json_object_is_type(value, json_type_array) && out->pretty) {
                json_out_array(out);
                for (size_t i = 0; i < json_object_array_length(value); i++)
                        json_out_value(out, json_object_array_get_idx(value, i));
                json_out_end(out);
        } else {
                begin_element(out);
                put_scratch(out, message_append_object(&out->scratch, value));
        }
}

void json_out_u64(JsonOut *out, uint64_t value) {
        begin_element(out);
        put_scratch(out, buffer_append_u64(&out->scratch, value));
}

void json_out_double(JsonOut *out, double value) {
        JsonWriter writer;

        begin_element(out);
        json_writer_init(&writer, &out->scratch);
        json_write_double(&writer, value);
        put_scratch(out, json_writer_finish(&writer));
}

void json_out_span(JsonOut *out, Span text) {
        JsonWriter writer;

        begin_element(out);
        json_writer_init(&writer, &out->scratch);
        json_write_span(&writer, text);
        put_scratch(out, json_writer_finish(&writer));
}

void json_out_text(JsonOut *out, const char *text) {
        json_out_span(out, span_of(text));
}

void json_out_raw(JsonOut *out, Span json) {
        begin_element(out);
        put(out, json);
}

void json_out_name(JsonOut *out, Span bytes) {
        JsonWriter writer;

        begin_element(out);
        json_writer_init(&writer, &out->scratch);
        json_write_name(&writer, bytes);
        put_scratch(out, json_writer_finish(&writer));
}

int json_out_finish(JsonOut *out) {
        if (out->error == 0 && (out->depth > 0 || out->after_key))
                fail(out, -EINVAL);
        put(out, SPAN_LITERAL("\n"));
        if (out->error == 0 && fflush(out->file) == EOF)
                fail(out, errno > 0 ? -errno : -EIO);
        return out->error;
}
