/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-scanner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name-set.h"

#define QUOTED_BYTES 64 /* of a key in a complaint */
#define NOTHING (-1)    /* instead of a byte: the text has ended */

/*
 * Objects in an array mostly have the same keys in the same order. The keys of an object therefore
 * stay when it ends. While the next one at that depth repeats them, each key is only compared with
 * its predecessor, which also shows that none is there twice.
 */
struct JsonLevel {
        bool is_object;
        bool is_repeating; /* the keys so far are the first ones of @keys */
        bool is_verbatim;  /* no key in @keys was written with an escape */
        size_t n_keys;     /* read so far */
        NameSet keys;      /* of this object; while it repeats, of the one before */
};

int json_scanner_new_text(Span text, const JsonLimits *limits, JsonScanner **ret) {
        uint64_t max_bytes = limits->max_text_bytes > 0 ? limits->max_text_bytes : UINT64_MAX;
        const char *bytes = text.n > 0 ? text.bytes : "";
        size_t n = (size_t) MIN_OF((uint64_t) text.n, max_bytes);
        JsonScanner *scanner = malloc(sizeof(*scanner));

        if (!scanner)
                return -ENOMEM;
        *scanner = (JsonScanner){
                .token = JSON_TOKEN_END,
                .string = SPAN_LITERAL(""),
                .max_depth = limits->max_depth,
                .input = {
                        .token = bytes,
                        .at = bytes,
                        .end = bytes + n,
                        .window = bytes,
                        .n_left = max_bytes - n,
                        .max_token_bytes = limits->max_token_bytes,
                        .ended = true,
                        .too_long = n < text.n,
                },
        };
        *ret = scanner;
        return 0;
}

int json_scanner_new_stream(JsonRefill refill, void *userdata, const JsonLimits *limits,
                            JsonScanner **ret) {
        int r = json_scanner_new_text((Span){}, limits, ret);

        if (r != 0)
                return r;
        (*ret)->input.ended = false;
        (*ret)->input.refill = refill;
        (*ret)->input.userdata = userdata;
        return 0;
}

JsonScanner *json_scanner_free(JsonScanner *scanner) {
        if (!scanner)
                return NULL;
        for (unsigned i = 0; i < scanner->n_levels; i++)
                name_set_done(&scanner->levels[i].keys);
        free(scanner->levels);
        buffer_done(&scanner->decoded);
        free(scanner->input.space);
        free(scanner);
        return NULL;
}

/* Skips white space. *ret is the byte at @at, which is not consumed. */
static int skip_space(JsonInput *input, int *ret) {
        size_t n_run = 0;
        bool more;
        int r;

        for (;; input->at++, n_run++) {
                input->token = input->at;
                if (input->at == input->end) {
                        r = json_input_fetch(input, &more);
                        if (r != 0)
                                return r;
                        if (!more) {
                                *ret = NOTHING;
                                return 0;
                        }
                }
                if (*input->at != ' ' && *input->at != '\n' && *input->at != '\t' &&
                    *input->at != '\r')
                        break;
                if (n_run == input->max_token_bytes)
                        return json_input_fail(input, "a run of white space is too long");
        }
        *ret = (unsigned char) *input->at;
        return 0;
}

static inline int next_byte(JsonInput *input, int *ret) {
        if (input->at < input->end && (unsigned char) *input->at > ' ') {
                input->token = input->at;
                *ret = (unsigned char) *input->at;
                return 0;
        }
        return skip_space(input, ret);
}

static const char *expected_text(const JsonScanner *scanner) {
        switch (scanner->expected) {
        case JSON_EXPECTED_VALUE:
                return "a value is expected";
        case JSON_EXPECTED_VALUE_OR_END:
                return "a value or ']' is expected";
        case JSON_EXPECTED_KEY:
                return "a key is expected";
        case JSON_EXPECTED_KEY_OR_END:
                return "a key or '}' is expected";
        case JSON_EXPECTED_COLON:
                return "':' is expected";
        case JSON_EXPECTED_COMMA_OR_END:
                return scanner->levels[scanner->depth - 1].is_object ? "',' or '}' is expected"
                                                                     : "',' or ']' is expected";
        case JSON_EXPECTED_NOTHING:
                return "nothing is expected behind the value";
        }
        return "";
}

static int fail_expected(JsonScanner *scanner, int byte) {
        (void) snprintf(scanner->complaint, sizeof(scanner->complaint), "%s%s",
                        byte == NOTHING ? "the text ends where " : "", expected_text(scanner));
        return JSON_E_MALFORMED;
}

static int read_open(JsonScanner *scanner, bool is_object, JsonToken *ret) {
        JsonLevel *level;

        if (scanner->depth >= scanner->max_depth)
                return json_input_fail(&scanner->input, "nested too deeply");
        if (scanner->depth == scanner->n_levels) {
                unsigned n = scanner->n_levels > 0 ? 2 * scanner->n_levels : 8;
                JsonLevel *levels = reallocarray(scanner->levels, n, sizeof(*levels));

                if (!levels)
                        return -ENOMEM;
                memset(levels + scanner->n_levels, 0, (n - scanner->n_levels) * sizeof(*levels));
                scanner->levels = levels;
                scanner->n_levels = n;
        }
        level = &scanner->levels[scanner->depth++];
        level->is_object = is_object;
        level->is_repeating = true;
        level->n_keys = 0;
        scanner->expected = is_object ? JSON_EXPECTED_KEY_OR_END : JSON_EXPECTED_VALUE_OR_END;
        scanner->input.at++;
        *ret = is_object ? JSON_TOKEN_OBJECT : JSON_TOKEN_ARRAY;
        return 0;
}

static int read_close(JsonScanner *scanner, JsonToken *ret) {
        *ret = scanner->levels[--scanner->depth].is_object ? JSON_TOKEN_OBJECT_END
                                                           : JSON_TOKEN_ARRAY_END;
        scanner->input.at++;
        scanner->expected = scanner->depth > 0 ? JSON_EXPECTED_COMMA_OR_END : JSON_EXPECTED_NOTHING;
        return 0;
}

static int fail_duplicate(JsonScanner *scanner) {
        char quoted[QUOTED_BYTES + 1];
        size_t n = MIN_OF(scanner->string.n, (size_t) QUOTED_BYTES);

        /* The complaint goes to terminals and into messages, so it has nothing but plain ASCII. */
        for (size_t i = 0; i < n; i++) {
                char c = scanner->string.bytes[i];

                quoted[i] = (char) (c >= ' ' && c <= '~' ? c : '?');
        }
        quoted[n] = '\0';
        (void) snprintf(scanner->complaint, sizeof(scanner->complaint), "duplicate member \"%s\"%s",
                        quoted, n < scanner->string.n ? "..." : "");
        scanner->input.at = scanner->input.token;
        return JSON_E_MALFORMED;
}

/* Most keys are so short that calling memcmp() would cost more than comparing. */
static bool same_bytes(const char *a, const char *b, size_t n) {
        uint64_t x, y;

        if (n < sizeof(x))
                return memcmp(a, b, n) == 0;
        for (size_t i = 0; i < n - sizeof(x); i += sizeof(x)) {
                memcpy(&x, a + i, sizeof(x));
                memcpy(&y, b + i, sizeof(y));
                if (x != y)
                        return false;
        }
        memcpy(&x, a + n - sizeof(x), sizeof(x));
        memcpy(&y, b + n - sizeof(y), sizeof(y));
        return x == y;
}

/*
 * True when the bytes of the input are the expected key in its quotes. One that was written with an
 * escape is not found so, because its bytes could be those of a shorter key and more.
 */
static bool take_same_bytes(JsonScanner *scanner, const JsonLevel *level) {
        JsonInput *input = &scanner->input;
        Span key;

        if (!level->is_repeating || !level->is_verbatim || level->n_keys == level->keys.n)
                return false;
        key = name_set_get(&level->keys, level->n_keys);
        if ((size_t) (input->end - input->at) < key.n + 2 || input->at[key.n + 1] != '"' ||
            !same_bytes(input->at + 1, key.bytes, key.n))
                return false;
        scanner->string = (Span){ input->at + 1, key.n };
        input->at += key.n + 2;
        return true;
}

/* Adds the key just read, which is not the expected one, to those that the object has so far. */
static int add_key(JsonScanner *scanner, JsonLevel *level) {
        size_t n_written = (size_t) (scanner->input.at - scanner->input.token), number = 0;
        int r = 0;

        if (level->is_repeating)
                r = name_set_truncate(&level->keys, level->n_keys);
        level->is_repeating = false;
        if (level->n_keys == 0)
                level->is_verbatim = true;
        if (r == 0)
                r = name_set_add(&level->keys, scanner->string, &number);
        if (r != 0)
                return r;
        if (number < level->n_keys)
                return fail_duplicate(scanner);
        /* Every escape is longer than what it stands for. */
        if (n_written != scanner->string.n + 2)
                level->is_verbatim = false;
        return 0;
}

static bool is_expected_key(const JsonLevel *level, Span key) {
        return level->is_repeating && level->n_keys < level->keys.n &&
               span_equal(key, name_set_get(&level->keys, level->n_keys));
}

static int read_key(JsonScanner *scanner, JsonToken *ret) {
        JsonLevel *level = &scanner->levels[scanner->depth - 1];
        int r;

        if (!take_same_bytes(scanner, level)) {
                r = json_string_read(&scanner->input, &scanner->decoded, &scanner->string);
                if (r == 0 && !is_expected_key(level, scanner->string))
                        r = add_key(scanner, level);
                if (r != 0)
                        return r;
        }
        level->n_keys++;
        scanner->expected = JSON_EXPECTED_COLON;
        *ret = JSON_TOKEN_KEY;
        return 0;
}

static int read_word(JsonInput *input, const char *word) {
        bool more;
        int r;

        for (; *word; word++, input->at++) {
                if (input->at == input->end) {
                        r = json_input_fetch(input, &more);
                        if (r != 0)
                                return r;
                        if (!more)
                                return json_input_fail(input, "the text ends inside a word");
                }
                if (*input->at != *word)
                        return json_input_fail(input, "a value is expected");
        }
        return 0;
}

static int read_value(JsonScanner *scanner, int byte, JsonToken *ret) {
        JsonToken token;
        int r;

        switch (byte) {
        case '-':
        case '0' ... '9':
                r = json_number_read(&scanner->input, &scanner->number);
                token = scanner->number.is_real ? JSON_TOKEN_REAL : JSON_TOKEN_INTEGER;
                break;
        case '"':
                r = json_string_read(&scanner->input, &scanner->decoded, &scanner->string);
                token = JSON_TOKEN_STRING;
                break;
        case '{':
                return read_open(scanner, true, ret);
        case '[':
                return read_open(scanner, false, ret);
        case 't':
                r = read_word(&scanner->input, "true");
                token = JSON_TOKEN_TRUE;
                break;
        case 'f':
                r = read_word(&scanner->input, "false");
                token = JSON_TOKEN_FALSE;
                break;
        case 'n':
                r = read_word(&scanner->input, "null");
                token = JSON_TOKEN_NULL;
                break;
        default:
                return fail_expected(scanner, byte);
        }
        if (r != 0)
                return r;
        scanner->expected = scanner->depth > 0 ? JSON_EXPECTED_COMMA_OR_END : JSON_EXPECTED_NOTHING;
        *ret = token;
        return 0;
}

static int read_token(JsonScanner *scanner, JsonToken *ret) {
        bool in_object = scanner->depth > 0 && scanner->levels[scanner->depth - 1].is_object;
        int byte, r;

        r = next_byte(&scanner->input, &byte);
        if (r != 0)
                return r;
        /* A comma or colon is no token: it tells what is expected behind it. */
        if ((scanner->expected == JSON_EXPECTED_COLON && byte == ':') ||
            (scanner->expected == JSON_EXPECTED_COMMA_OR_END && byte == ',')) {
                scanner->expected =
                        byte == ',' && in_object ? JSON_EXPECTED_KEY : JSON_EXPECTED_VALUE;
                scanner->input.at++;
                r = next_byte(&scanner->input, &byte);
                if (r != 0)
                        return r;
        }
        if (scanner->expected == JSON_EXPECTED_VALUE)
                return read_value(scanner, byte, ret);

        switch (scanner->expected) {
        case JSON_EXPECTED_VALUE_OR_END:
                return byte == ']' ? read_close(scanner, ret) : read_value(scanner, byte, ret);
        case JSON_EXPECTED_KEY_OR_END:
                if (byte == '"')
                        return read_key(scanner, ret);
                if (byte == '}')
                        return read_close(scanner, ret);
                break;
        case JSON_EXPECTED_COMMA_OR_END:
                if (byte == (in_object ? '}' : ']'))
                        return read_close(scanner, ret);
                break;
        case JSON_EXPECTED_NOTHING:
                if (byte != NOTHING)
                        break;
                *ret = JSON_TOKEN_END;
                return 0;
        case JSON_EXPECTED_KEY:
                if (byte == '"')
                        return read_key(scanner, ret);
                break;
        case JSON_EXPECTED_VALUE:
        case JSON_EXPECTED_COLON:
                break;
        }
        return fail_expected(scanner, byte);
}

static int stop(JsonScanner *scanner, int failure) {
        scanner->failure = failure;
        scanner->offset = scanner->input.window_offset +
                          (uint64_t) (scanner->input.at - scanner->input.window);
        if (failure == JSON_E_MALFORMED && scanner->input.complaint)
                (void) snprintf(scanner->complaint, sizeof(scanner->complaint), "%s",
                                scanner->input.complaint);
        return failure;
}

static void place_token(JsonScanner *scanner, JsonToken token) {
        scanner->token = token;
        scanner->offset = scanner->input.window_offset +
                          (uint64_t) (scanner->input.token - scanner->input.window);
}

int json_scanner_next(JsonScanner *scanner, JsonToken *ret) {
        JsonToken token = JSON_TOKEN_END;
        int r;

        *ret = JSON_TOKEN_END;
        if (scanner->failure != 0)
                return scanner->failure;
        r = read_token(scanner, &token);
        if (r != 0)
                return stop(scanner, r);
        place_token(scanner, token);
        *ret = token;
        return 0;
}

size_t json_scanner_counts(JsonScanner *scanner, uint64_t *ret, size_t n) {
        if (scanner->failure != 0 || scanner->expected != JSON_EXPECTED_COMMA_OR_END ||
            scanner->depth == 0 || scanner->levels[scanner->depth - 1].is_object)
                return 0;
        n = json_counts_read(&scanner->input, ret, n);
        if (n == 0)
                return 0;
        scanner->number = (JsonNumber){ .magnitude = ret[n - 1] };
        place_token(scanner, JSON_TOKEN_INTEGER);
        return n;
}

bool json_scanner_repeats(const JsonScanner *scanner) {
        return scanner->depth > 0 && scanner->levels[scanner->depth - 1].is_repeating;
}

/*
 * *ret is the first token of the value that a caller wants whole: the token just read, or the one
 * after a key.
 */
static int begin_value(JsonScanner *scanner, JsonToken *ret) {
        if (scanner->failure != 0)
                return scanner->failure;
        if (scanner->token == JSON_TOKEN_KEY)
                return json_scanner_next(scanner, ret);
        *ret = scanner->token;
        return 0;
}

static bool is_opener(JsonToken token) {
        return token == JSON_TOKEN_OBJECT || token == JSON_TOKEN_ARRAY;
}

static bool is_closer(JsonToken token) {
        return token == JSON_TOKEN_OBJECT_END || token == JSON_TOKEN_ARRAY_END;
}

/* Finds the end of the string that begins at @at; NULL if it has none. */
static const char *find_quote(const char *at, const char *end) {
        const char *begin = ++at;

        while ((at = memchr(at, '"', (size_t) (end - at)))) {
                const char *escapes = at;

                while (escapes > begin && escapes[-1] == '\\')
                        escapes--;
                if ((at - escapes) % 2 == 0)
                        return at;
                at++;
        }
        return NULL;
}

/*
 * Steps over groups of eight bytes in which no string, object or array can begin or end: most of a
 * row of numbers. Some other bytes end it as well.
 */
static const char *skip_plain(const char *at, const char *end) {
        const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;

        for (; (size_t) (end - at) >= sizeof(uint64_t); at += sizeof(uint64_t)) {
                uint64_t word, brackets, quotes;

                memcpy(&word, at, sizeof(word));
                /* Brackets and braces become 0 (so do 'Y', '_', 'y' and DEL), and quotes do. */
                brackets = (word & ~(ones * 0x26)) ^ ones * 0x59;
                quotes = word ^ ones * '"';
                /* A byte that is 0 gets its top bit; one behind it may get it too. */
                brackets = (brackets - ones) & ~brackets;
                quotes = (quotes - ones) & ~quotes;
                if (((brackets | quotes) & tops) != 0)
                        break;
        }
        return at;
}

/* Finds the end of the container in which @at is; NULL if it has none. */
static const char *find_closer(const char *at, const char *end) {
        unsigned depth = 1;

        for (; (at = skip_plain(at, end)) < end; at++) {
                if (*at == '"') {
                        at = find_quote(at, end);
                        if (!at)
                                return NULL;
                } else if (*at == '{' || *at == '[') {
                        depth++;
                } else if ((*at == '}' || *at == ']') && --depth == 0) {
                        return at;
                }
        }
        return NULL;
}

/* Goes to the end of the container that the scanner is in; @leap: as if nothing more were in it. */
static int leave(JsonScanner *scanner, bool leap) {
        JsonInput *input = &scanner->input;
        const char *closer = leap ? find_closer(input->at, input->end) : NULL;
        unsigned depth = scanner->depth;
        JsonToken token;
        int r;

        if (closer)
                input->at = closer;
        while (scanner->depth >= depth) {
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        return r;
        }
        return 0;
}

int json_scanner_skip(JsonScanner *scanner) {
        JsonToken token;
        int r;

        r = begin_value(scanner, &token);
        if (r != 0 || !is_opener(token))
                return r;
        return leave(scanner, scanner->input.is_checked);
}

int json_scanner_leave(JsonScanner *scanner) {
        if (scanner->failure != 0)
                return scanner->failure;
        return leave(scanner, true);
}

int json_scanner_raw(JsonScanner *scanner, Buffer *buffer) {
        const JsonInput *input = &scanner->input;
        JsonToken token = JSON_TOKEN_END;
        size_t start = buffer->n;
        bool comma = false, goes_on;
        unsigned depth;
        int r;

        r = begin_value(scanner, &token);
        if (r == 0 && (token == JSON_TOKEN_END || is_closer(token)))
                r = -EINVAL;
        if (r == 0)
                r = buffer_append(buffer, input->token, (size_t) (input->at - input->token));
        goes_on = is_opener(token);
        depth = scanner->depth;
        while (r == 0 && goes_on) {
                r = json_scanner_next(scanner, &token);
                if (r != 0)
                        break;
                if (comma && !is_closer(token))
                        buffer_append_byte(buffer, ',');
                r = buffer_append(buffer, input->token, (size_t) (input->at - input->token));
                if (token == JSON_TOKEN_KEY)
                        r = buffer_append_byte(buffer, ':');
                comma = token != JSON_TOKEN_KEY && !is_opener(token);
                goes_on = scanner->depth >= depth;
        }
        if (r != 0)
                buffer_truncate(buffer, start);
        return r;
}

int json_scanner_fail(JsonScanner *scanner, const char *complaint) {
        size_t n = strnlen(complaint, sizeof(scanner->complaint) - 1);

        if (scanner->failure != 0)
                return scanner->failure;
        /*
         * It is cut between two characters, because complaints become parts of messages, which are
         * UTF-8.
         */
        while (n > 0 && ((unsigned char) complaint[n] & 0xc0) == 0x80)
                n--;
        memcpy(scanner->complaint, complaint, n);
        scanner->complaint[n] = '\0';
        scanner->failure = JSON_E_MALFORMED;
        return JSON_E_MALFORMED;
}

/* calls for callers that expect a certain token next; they add nothing to the grammar */

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
                *ret_key = scanner->string;
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

int json_scanner_u64(JsonScanner *scanner, uint64_t *ret) {
        JsonToken token;

        json_scanner_next(scanner, &token);
        if (token != JSON_TOKEN_INTEGER || scanner->number.negative)
                return json_scanner_fail(scanner, "an integer from 0 to 2^64-1 is expected");
        *ret = scanner->number.magnitude;
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
        *ret = scanner->string;
        return 0;
}

int json_check(Span text, const JsonLimits *limits) {
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        JsonToken token;
        int r;

        r = json_scanner_new_text(text, limits, &scanner);
        if (r != 0)
                return r;
        do
                r = json_scanner_next(scanner, &token);
        while (r == 0 && token != JSON_TOKEN_END);
        return r;
}
