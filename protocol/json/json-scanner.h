/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonScanner
 *
 * Strict RFC 8259, token by token, from bytes in memory or from a stream of chunks. Every byte of
 * foreign JSON passes here before anything else sees it. Refused: invalid UTF-8, lone surrogates in
 * \u escapes, \u0000, duplicate members of an object, nesting past the depth limit, a token or a
 * run of white space longer than its limit, numbers that are not JSON numbers, anything behind the
 * value. Memory is bounded by the limits, not by the input, except for the keys of an object, which
 * are kept until an object at that depth has others.
 *
 * Integers are exact from -(2^64-1) to 2^64-1; a number with fraction or exponent is a token of its
 * own that only json_scanner_skip() and json_scanner_raw() accept.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-input.h"

typedef enum JsonToken {
        JSON_TOKEN_END, /* the value is complete and nothing but white space followed */
        JSON_TOKEN_OBJECT,
        JSON_TOKEN_OBJECT_END,
        JSON_TOKEN_ARRAY,
        JSON_TOKEN_ARRAY_END,
        JSON_TOKEN_KEY,
        JSON_TOKEN_STRING,
        JSON_TOKEN_INTEGER, /* fits sign and 64 bits */
        JSON_TOKEN_REAL,    /* any other number, 2^64 included */
        JSON_TOKEN_TRUE,
        JSON_TOKEN_FALSE,
        JSON_TOKEN_NULL,
} JsonToken;

typedef enum JsonExpected {
        JSON_EXPECTED_VALUE,
        JSON_EXPECTED_VALUE_OR_END, /* behind '[' */
        JSON_EXPECTED_KEY,
        JSON_EXPECTED_KEY_OR_END, /* behind '{' */
        JSON_EXPECTED_COLON,
        JSON_EXPECTED_COMMA_OR_END,
        JSON_EXPECTED_NOTHING,
} JsonExpected;

#define JSON_COMPLAINT_BYTES 256

typedef struct JsonLevel JsonLevel;

typedef struct JsonScanner {
        /* The last token and its value. */
        JsonToken token;
        JsonNumber number;
        /*
         * A string or key, decoded (escapes undone), valid UTF-8, borrowed until the next call;
         * bytes is never NULL.
         */
        Span string;
        /*
         * The place where the last token begins, or the first wrong byte, and the complaint: a
         * fragment of a sentence (duplicate member "x"), or "" without a failure.
         */
        uint64_t offset;
        char complaint[JSON_COMPLAINT_BYTES];

        /* The rest belongs to json-scanner.c. */
        JsonInput input;
        int failure; /* what every further call returns */
        JsonExpected expected;
        JsonLevel *levels; /* levels past @depth are unused but keep their memory */
        unsigned depth, n_levels, max_depth;
        Buffer decoded;
} JsonScanner;

/*
 * @text is borrowed and must outlive the scanner. If it was read before, as json_scanner_raw()
 * copied it, input.is_checked may be set: an object or array that json_scanner_skip() skips is then
 * not checked again.
 */
_must_check_ int json_scanner_new_text(Span text, const JsonLimits *limits, JsonScanner **ret);
_must_check_ int json_scanner_new_stream(JsonRefill refill, void *userdata,
                                         const JsonLimits *limits, JsonScanner **ret);
JsonScanner *json_scanner_free(JsonScanner *scanner);
DEFINE_CLEANUP(JsonScanner *, json_scanner_free);

/*
 * 0, JSON_E_MALFORMED, or what the refill function failed with. The first failure sticks: every
 * further call returns it, also json_scanner_fail(), and *ret is JSON_TOKEN_END then. A caller that
 * wants another token therefore need not check the result:
 *
 *     json_scanner_next(scanner, &token);
 *     if (token != JSON_TOKEN_OBJECT)
 *             return json_scanner_fail(scanner, "an object is expected");
 */
int json_scanner_next(JsonScanner *scanner, JsonToken *ret);

/*
 * After a KEY: whether it and the keys before it repeat, in their order, those of an object at this
 * depth that was read before, and no other keys were read at this depth since then.
 */
bool json_scanner_repeats(const JsonScanner *scanner);
/* True when the last token is an integer from 0 to 2^64-1, which is *ret; false after a failure. */
static inline bool json_scanner_has_u64(const JsonScanner *scanner, uint64_t *ret) {
        *ret = scanner->number.magnitude;
        return scanner->failure == 0 && scanner->token == JSON_TOKEN_INTEGER &&
               !scanner->number.negative;
}

/*
 * Inside an array, behind a value of it: reads up to @n unsigned integers that come next, each as
 * json_scanner_next() does, but in fewer steps. Returns how many it read. It may stop early, for
 * any reason; json_scanner_next() then reads the next token or complains about it.
 */
size_t json_scanner_counts(JsonScanner *scanner, uint64_t *ret, size_t n);

/* After a KEY, consumes its whole value. After OBJECT or ARRAY, consumes the rest of it. */
_must_check_ int json_scanner_skip(JsonScanner *scanner);
/*
 * Inside an object or array, consumes the rest of it. If the end of it is in memory already, the
 * text up to there is stepped over without a check; so this is for text that is read once more, and
 * is checked then.
 */
_must_check_ int json_scanner_leave(JsonScanner *scanner);
/*
 * As json_scanner_skip(), and appends the value to @buffer: one valid JSON value, with strings and
 * numbers as they were written and without white space. After a scalar, appends that scalar. If
 * @buffer fails, its error is returned, @buffer is as it was before, and the scanner is somewhere
 * inside the value.
 */
_must_check_ int json_scanner_raw(JsonScanner *scanner, Buffer *buffer);

/* For the caller's own checks ("a string is expected"): makes the scanner fail with @complaint. */
int json_scanner_fail(JsonScanner *scanner, const char *complaint);

/* The next token must be of that kind, else JSON_E_MALFORMED with a complaint. */
_must_check_ int json_scanner_expect(JsonScanner *scanner, JsonToken wanted);
/* Inside an object: *ret_key is the next key, or a span with bytes == NULL at its end. */
_must_check_ int json_scanner_member(JsonScanner *scanner, Span *ret_key);
/*
 * Gets one member. Its @key was read, and is borrowed until the scanner reads on. Must consume the
 * whole value.
 */
typedef int (*JsonOnMember)(void *userdata, JsonScanner *scanner, Span key);
/*
 * Reads the members of an object, whose opening token was read, to its end. If @on_member returns
 * anything but 0, reading stops and that is returned.
 */
_must_check_ int json_scanner_members(JsonScanner *scanner, JsonOnMember on_member, void *userdata);
/* The same from the opening token on. */
_must_check_ int json_scanner_object(JsonScanner *scanner, JsonOnMember on_member, void *userdata);
_must_check_ int json_scanner_u64(JsonScanner *scanner, uint64_t *ret);
_must_check_ int json_scanner_bool(JsonScanner *scanner, bool *ret);
/* *ret is borrowed until the next call. */
_must_check_ int json_scanner_text(JsonScanner *scanner, Span *ret);

/* One whole text: 0 when @text is one valid value under @limits, JSON_E_MALFORMED or -ENOMEM. */
_must_check_ int json_check(Span text, const JsonLimits *limits);
