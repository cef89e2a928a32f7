/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonTokens
 *
 * What a text says, without how it is spaced and spelled: its tokens, one a line, strings decoded,
 * numbers as they stand. Two texts with equal tokens are the same value.
 */

#include <inttypes.h>
#include <stdint.h>

#include "base/buffer.h"
#include "fuzz.h"
#include "json/json-scanner.h"

static inline int json_tokens_put(JsonScanner *scanner, JsonToken token, Buffer *tokens) {
        Span string = scanner->string;

        fuzz_expect(buffer_append_format(tokens, "\n%d ", (int) token) == 0, "memory");
        if (token == JSON_TOKEN_STRING || token == JSON_TOKEN_KEY)
                fuzz_expect(buffer_append(tokens, string.bytes, string.n) == 0, "memory");
        if (token == JSON_TOKEN_INTEGER)
                fuzz_expect(buffer_append_format(tokens, "%s%" PRIu64,
                                                 scanner->number.negative ? "-" : "",
                                                 scanner->number.magnitude) == 0,
                            "memory");
        return token == JSON_TOKEN_REAL ? json_scanner_raw(scanner, tokens) : 0;
}

/* Appends the tokens, as far as they go. Returns what the scan ended with; frees the scanner. */
static inline int json_tokens(JsonScanner *scanner, Buffer *tokens, uint64_t *ret_offset) {
        JsonToken token;
        int r;

        do {
                r = json_scanner_next(scanner, &token);
                if (r == 0)
                        r = json_tokens_put(scanner, token, tokens);
        } while (r == 0 && token != JSON_TOKEN_END);
        *ret_offset = scanner->offset;
        (void) json_scanner_free(scanner);
        return r;
}

static inline int json_tokens_of(Span text, const JsonLimits *limits, Buffer *tokens) {
        JsonScanner *scanner;

        fuzz_expect(json_scanner_new_text(text, limits, &scanner) == 0, "memory");
        return json_tokens(scanner, tokens, &(uint64_t){ 0 });
}
