/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-profile.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "base/macro.h"
#include "config.h"
#include "render/cell.h"
#include "render/printable.h"

static uint64_t round_us(uint64_t ns) {
        return ns / NSEC_PER_USEC + (ns % NSEC_PER_USEC >= NSEC_PER_USEC / 2);
}

/* folded lines */

static void append_part(Buffer *line, Span name) {
        size_t begin = line->n;

        printable_append_name(line, name);
        for (size_t i = begin; i < line->n; i++)
                if (line->bytes[i] == ';')
                        line->bytes[i] = ',';
}

static void append_us(Buffer *line, double ns) {
        double us = ns / NSEC_PER_USEC;

        buffer_append_format(line, " %lld", us < 0x1p63 ? llround(us) : LLONG_MAX);
}

int stack_append_folded(Buffer *line, const StackStore *store, const StoredStack *row,
                        bool has_errors) {
        size_t n = stack_store_is_pair(store) ? 2 : 1;
        double scales[] = { n == 2 ? (double) store->elapsed_ns[1] / (double) store->elapsed_ns[0]
                                   : 1,
                            1 };

        if ((double) row->of[0].ns * scales[0] < NSEC_PER_USEC / 2.0 &&
            (n == 1 || round_us(row->of[1].ns) == 0))
                return buffer_failure(line);
        append_part(line, name_set_get(&store->names, row->process));
        for (size_t i = 0; i < row->n_frames; i++) {
                buffer_append_byte(line, ';');
                append_part(line,
                            name_set_get(&store->functions, stack_store_frames(store, row)[i]));
        }
        buffer_append_text(line, ";[");
        append_part(line, name_set_get(&store->places, row->place));
        buffer_append_byte(line, ']');
        for (size_t i = 0; i < n; i++) {
                append_us(line, (double) row->of[i].ns * scales[i]);
                if (has_errors)
                        append_us(line, sqrt(row->of[i].variance) * scales[i]);
        }
        return buffer_append_byte(line, '\n');
}

/* speedscope */

static void write_frame(JsonOut *out, Span name) {
        json_out_object(out);
        json_out_member_span(out, "name", name);
        json_out_end(out);
}

/* The stacks of one process; frames of places stand behind those of functions. */
static void write_process(JsonOut *out, const StackStore *store, size_t begin, size_t end) {
        uint64_t total_us = 0;

        for (size_t i = begin; i < end; i++)
                total_us += round_us(store->rows[i].of[0].ns);
        json_out_object(out);
        json_out_key(out, "type");
        json_out_text(out, "sampled");
        json_out_member_span(out, "name", name_set_get(&store->names, store->rows[begin].process));
        json_out_key(out, "unit");
        json_out_text(out, "microseconds");
        json_out_member_u64(out, "startValue", 0);
        json_out_member_u64(out, "endValue", total_us);
        json_out_key(out, "samples");
        json_out_array(out);
        for (size_t i = begin; i < end; i++) {
                const StoredStack *row = &store->rows[i];

                if (round_us(row->of[0].ns) == 0)
                        continue;
                json_out_array(out);
                for (size_t k = 0; k < row->n_frames; k++)
                        json_out_u64(out, stack_store_frames(store, row)[k]);
                json_out_u64(out, store->functions.n + row->place);
                json_out_end(out);
        }
        json_out_end(out);
        json_out_key(out, "weights");
        json_out_array(out);
        for (size_t i = begin; i < end; i++)
                if (round_us(store->rows[i].of[0].ns) > 0)
                        json_out_u64(out, round_us(store->rows[i].of[0].ns));
        json_out_end(out);
        json_out_end(out);
}

int stack_write_speedscope(JsonOut *out, StackStore *store, json_object *title) {
        int r = stack_store_sort(store);

        if (r != 0)
                return r;
        json_out_object(out);
        json_out_key(out, "$schema");
        json_out_text(out, "https://www.speedscope.app/file-format-schema.json");
        if (json_object_is_type(title, json_type_string))
                json_out_member(out, "name", title);
        json_out_key(out, "exporter");
        json_out_text(out, "ctprofctl " CTPROF_VERSION);
        json_out_key(out, "shared");
        json_out_object(out);
        json_out_key(out, "frames");
        json_out_array(out);
        for (size_t i = 0; i < store->functions.n; i++)
                write_frame(out, name_set_get(&store->functions, i));
        for (size_t i = 0; i < store->places.n; i++) {
                _cleanup_(buffer_done) Buffer place = {};
                Span name = name_set_get(&store->places, i);

                buffer_append_byte(&place, '[');
                buffer_append(&place, name.bytes, name.n);
                r = buffer_append_byte(&place, ']');
                if (r != 0)
                        return r;
                write_frame(out, buffer_span(&place));
        }
        json_out_end(out);
        json_out_end(out);
        json_out_key(out, "profiles");
        json_out_array(out);
        for (size_t begin = 0, end; begin < store->n; begin = end) {
                for (end = begin + 1;
                     end < store->n && store->rows[end].process == store->rows[begin].process;)
                        end++;
                write_process(out, store, begin, end);
        }
        json_out_end(out);
        json_out_end(out);
        return json_out_finish(out);
}
