/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-scanner.h"

/*
 * Calls of JsonScanner for callers that expect a certain token next. They add nothing to the
 * grammar.
 */

static const char *const wanted_texts[] = {
        [JSON_TOKEN_END] = "the end is expected",
        [JSON_TOKEN_OBJECT] = "an object is expected",
        [JSON_TOKEN_OBJECT_END] = "the end of an object is expected",
        [JSON_TOKEN_ARRAY] = "an array is expected",
        [JSON_TOKEN_ARRAY_END] = "the end of an array is expected",
        [JSON_TOKEN_KEY] = "a member is expected",
        [JSON_TOKEN_STRING] = "a string is expected",
        [JSON_TOKEN_INTEGER] = "an integer is expected",
        [JSON_TOKEN_REAL] = "a number with a fraction or an exponent is expected",
        [JSON_TOKEN_TRUE] = "true is expected",
        [JSON_TOKEN_FALSE] = "false is expected",
        [JSON_TOKEN_NULL] = "null is expected",
};

int json_scanner_expect(JsonScanner *scanner, JsonToken wanted) {
        JsonToken token;
        int r;

        r = json_scanner_next(scanner, &token);
        if (r != 0)
                return r;
        return token == wanted ? 0 : json_scanner_fail(scanner, wanted_texts[wanted]);
}

int json_scanner_member(JsonScanner *scanner, Span *ret_key) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token == JSON_TOKEN_KEY)
                *ret_key = json_scanner_string(scanner);
        else if (token == JSON_TOKEN_OBJECT_END)
                *ret_key = (Span){};
        else
                return json_scanner_fail(scanner, wanted_texts[JSON_TOKEN_KEY]);
        return 0;
}

int json_scanner_members(JsonScanner *scanner, JsonOnMember on_member, void *userdata) {
        Span key = {};
        int r;

        for (;;) {
                r = json_scanner_member(scanner, &key);
                if (r != 0 || !key.bytes)
                        return r;
                r = on_member(userdata, scanner, key);
                if (r != 0)
                        return r;
        }
}

int json_scanner_object(JsonScanner *scanner, JsonOnMember on_member, void *userdata) {
        int r = json_scanner_expect(scanner, JSON_TOKEN_OBJECT);

        return r == 0 ? json_scanner_members(scanner, on_member, userdata) : r;
}

int json_scanner_element(JsonScanner *scanner, JsonToken *ret) {
        return json_scanner_next(scanner, ret);
}

int json_scanner_u64(JsonScanner *scanner, uint64_t *ret) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token != JSON_TOKEN_INTEGER || json_scanner_negative(scanner))
                return json_scanner_fail(scanner, "an integer from 0 to 2^64-1 is expected");
        *ret = json_scanner_magnitude(scanner);
        return 0;
}

int json_scanner_i64(JsonScanner *scanner, int64_t *ret) {
        uint64_t magnitude;
        JsonToken token;
        bool negative;

        json_scanner_next(scanner, &token);
        magnitude = json_scanner_magnitude(scanner);
        negative = json_scanner_negative(scanner);
        if (token != JSON_TOKEN_INTEGER || magnitude > (uint64_t) INT64_MAX + (negative ? 1 : 0))
                return json_scanner_fail(scanner, "an integer from -2^63 to 2^63-1 is expected");
        *ret = negative ? (int64_t) (0 - magnitude) : (int64_t) magnitude;
        return 0;
}

int json_scanner_bool(JsonScanner *scanner, bool *ret) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token != JSON_TOKEN_TRUE && token != JSON_TOKEN_FALSE)
                return json_scanner_fail(scanner, "true or false is expected");
        *ret = token == JSON_TOKEN_TRUE;
        return 0;
}

int json_scanner_text(JsonScanner *scanner, Span *ret) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token != JSON_TOKEN_STRING)
                return json_scanner_fail(scanner, wanted_texts[JSON_TOKEN_STRING]);
        *ret = json_scanner_string(scanner);
        return 0;
}
