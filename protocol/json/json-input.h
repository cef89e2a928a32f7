/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonInput
 *
 * A window on the text being scanned: the whole text, or a buffer that is refilled. The bytes from
 * @token on stay in one piece while more are fetched, so a token can be handed out in place;
 * fetching may move them, and @token and @at with them. How a stream is cut into chunks makes no
 * difference to the scanner. The two kinds of token that can be long, strings and numbers, are read
 * and checked here.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

enum {
        JSON_OK,
        JSON_E_MALFORMED, /* see JsonScanner.complaint and offset */
};

/*
 * Delivers up to @n_space bytes into @space and their number in *ret_n; 0 bytes is the end. Returns
 * 0 or a negative errno, which json_scanner_next() passes on.
 */
typedef int (*JsonRefill)(void *userdata, char *space, size_t n_space, size_t *ret_n);

typedef struct JsonLimits {
        unsigned max_depth;      /* of nesting */
        size_t max_token_bytes;  /* of one string, key, number or run of white space, as written */
        uint64_t max_text_bytes; /* of the whole input; 0: none */
} JsonLimits;

/* Integers are exact, as a sign and 64 bits; any other number is only checked. */
typedef struct JsonNumber {
        uint64_t magnitude;
        bool negative; /* never for 0 */
        bool is_real;  /* has a fraction, an exponent or over 64 bits; no value then */
} JsonNumber;

typedef struct JsonInput {
        const char *token; /* token <= at <= end */
        const char *at;    /* the next byte */
        const char *end;   /* behind the last byte at hand */

        const char *window;     /* the first byte at hand */
        uint64_t window_offset; /* its offset in the text */
        uint64_t n_left;        /* bytes that may still be fetched */
        size_t max_token_bytes;
        bool is_checked; /* by another scanner, before */
        bool ended;      /* nothing more to fetch */
        bool too_long;   /* because the limit was reached */

        JsonRefill refill; /* NULL: the window is the text */
        void *userdata;
        char *space; /* owned */
        size_t n_space;

        const char *complaint; /* a literal, set with JSON_E_MALFORMED; @at is where */
} JsonInput;

/* Fetches bytes behind @end; *ret_more is false at the end of the text. */
_must_check_ int json_input_fetch(JsonInput *input, bool *ret_more);
/*
 * Makes sure that there are @n bytes at @at. Fails if the token becomes longer than its limit, or
 * with the complaint @ended if the text is shorter.
 */
_must_check_ int json_input_need(JsonInput *input, size_t n, const char *ended);

static inline int json_input_fail(JsonInput *input, const char *complaint) {
        input->complaint = complaint;
        return JSON_E_MALFORMED;
}

/*
 * Reads the string whose opening quote is at the start of the token: no control characters, valid
 * UTF-8, known escapes. *ret is its decoded content, in place or, where it had escapes, in
 * @decoded.
 */
_must_check_ int json_string_read(JsonInput *input, Buffer *decoded, Span *ret);
/* Reads the number at the start of the token, which is '-' or a digit. */
_must_check_ int json_number_read(JsonInput *input, JsonNumber *ret);
/*
 * Reads up to @n times a comma and an unsigned integer, as far as they are short and wholly in the
 * window. Returns how many it read; the last is the token then.
 */
size_t json_counts_read(JsonInput *input, uint64_t *ret, size_t n);
