/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonTrace
 *
 * Everything that a scanner says about a text, written as a text: each token with its offset and
 * value, and how the scan ended. Two scans agree if their traces are equal.
 */

#include <check.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "json/json-scanner.h"

/*
 * Delivers @text in chunks: up to @first bytes, then up to @n_chunk a time (0: as many as asked).
 */
typedef struct JsonChunks {
        Span text;
        size_t at;
        size_t first;
        size_t n_chunk;
        uint32_t random; /* not 0: chunks of 1 to n_chunk bytes, drawn from here */
        unsigned n_calls_after_end;
} JsonChunks;

static inline int json_chunks_refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        JsonChunks *chunks = userdata;
        size_t n = chunks->text.n - chunks->at, wanted = chunks->n_chunk;

        /* Every ck_assert writes a line somewhere, and this is called for single bytes. */
        if (n_space == 0 || (n == 0 && chunks->n_calls_after_end++ > 0))
                ck_abort_msg("called without room, or after the end");
        if (chunks->at < chunks->first)
                wanted = chunks->first - chunks->at;
        else if (chunks->random) {
                chunks->random = chunks->random * 1664525 + 1013904223;
                wanted = 1 + (chunks->random >> 8) % chunks->n_chunk;
        }
        if (wanted > 0)
                n = MIN_OF(n, wanted);
        n = MIN_OF(n, n_space);
        if (n > 0)
                memcpy(space, chunks->text.bytes + chunks->at, n);
        chunks->at += n;
        *ret_n = n;
        return 0;
}

static inline void json_trace_value(JsonScanner *scanner, JsonToken token, Buffer *buffer) {
        Span string = scanner->string;

        if (token == JSON_TOKEN_STRING || token == JSON_TOKEN_KEY) {
                ck_assert_int_eq(buffer_append(buffer, string.bytes, string.n), 0);
                ck_assert_ptr_nonnull(string.bytes);
        }
        if (token == JSON_TOKEN_INTEGER)
                ck_assert_int_eq(buffer_append_format(buffer, "%s%" PRIu64,
                                                      scanner->number.negative ? "-" : "",
                                                      scanner->number.magnitude),
                                 0);
}

/* Returns what the scan ended with. */
static inline int json_trace(JsonScanner *scanner, Buffer *buffer) {
        JsonToken token, again;
        int r;

        do {
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        break;
                ck_assert_int_eq(buffer_append_format(buffer, "\n%d@%" PRIu64 " ", (int) token,
                                                      scanner->offset),
                                 0);
                json_trace_value(scanner, token, buffer);
        } while (token != JSON_TOKEN_END);
        ck_assert_int_eq(buffer_append_format(buffer, "\n= %d@%" PRIu64 " %s", r, scanner->offset,
                                              scanner->complaint),
                         0);
        /* The end and a failure are final. */
        ck_assert_int_eq(json_scanner_next(scanner, &again), r);
        if (r == 0)
                ck_assert_int_eq(again, JSON_TOKEN_END);
        return r;
}

static inline int json_trace_text(Span text, const JsonLimits *limits, Buffer *buffer) {
        JsonScanner *scanner;
        int r;

        ck_assert_int_eq(json_scanner_new_text(text, limits, &scanner), 0);
        r = json_trace(scanner, buffer);
        json_scanner_free(scanner);
        return r;
}

static inline int json_trace_chunks(JsonChunks chunks, const JsonLimits *limits, Buffer *buffer) {
        JsonScanner *scanner;
        int r;

        ck_assert_int_eq(json_scanner_new_stream(json_chunks_refill, &chunks, limits, &scanner), 0);
        r = json_trace(scanner, buffer);
        json_scanner_free(scanner);
        return r;
}
