/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-input.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/name.h"
#include "base/number.h"

#define WINDOW_BYTES (64u * 1024u)

int json_input_fetch(JsonInput *input, bool *ret_more) {
        size_t n_used, n_space, n = 0;
        int r;

        if (!input->ended) {
                size_t n_kept = (size_t) (input->end - input->token);
                size_t n_read = (size_t) (input->at - input->token), n_room = 0;
                char *space = input->space; /* what is kept moves to its front; NULL: it stays */

                /*
                 * Between two moves at least a quarter of the buffer is read, so moving costs
                 * little. The buffer stops growing at twice the size of the longest token.
                 */
                n_space = input->n_space;
                if (space)
                        n_room = (size_t) (space + n_space - input->end);
                if (!space || (n_kept > n_space / 2 && n_room == 0)) {
                        n_space = space ? 2 * n_space : WINDOW_BYTES;
                        space = malloc(n_space);
                        if (!space)
                                return -ENOMEM;
                } else if (n_kept > n_space / 2 || (n_kept > 0 && n_room >= n_space / 4))
                        space = NULL;
                if (space) {
                        input->window_offset += (uint64_t) (input->token - input->window);
                        if (n_kept > 0)
                                memmove(space, input->token, n_kept);
                        input->window = input->token = space;
                        input->at = space + n_read;
                        input->end = space + n_kept;
                        if (space != input->space)
                                free(input->space);
                        input->space = space;
                        input->n_space = n_space;
                }
                /*
                 * Ask for one byte past the limit, to learn whether the text is longer than that.
                 */
                n_used = (size_t) (input->end - input->space);
                n_space = input->n_space - n_used;
                if (input->n_left < n_space)
                        n_space = (size_t) input->n_left + 1;
                r = input->refill(input->userdata, input->space + n_used, n_space, &n);
                if (r != 0)
                        return err_fold(r);
                assert(n <= n_space);
                input->ended = n == 0;
                if (n > input->n_left) {
                        n = (size_t) input->n_left;
                        input->ended = input->too_long = true;
                }
                input->n_left -= n;
                input->end += n;
        }
        if (n == 0 && input->too_long) {
                input->at = input->end;
                return json_input_fail(input, "the text is too long");
        }
        *ret_more = n > 0;
        return 0;
}

int json_input_need(JsonInput *input, size_t n, const char *ended) {
        bool more;
        int r;

        if ((size_t) (input->at - input->token) + n > input->max_token_bytes)
                return json_input_fail(input, "a string is too long");
        while ((size_t) (input->end - input->at) < n) {
                r = json_input_fetch(input, &more);
                if (r != 0)
                        return r;
                if (!more) {
                        input->at = input->end;
                        return json_input_fail(input, ended);
                }
        }
        return 0;
}

/* strings */

static const char cut_off[] = "the text ends inside a string";
static const char bad_escape[] = "an unknown escape in a string";

/* Bytes that end a run of plain ones: controls, quote, backslash, everything outside ASCII. */
// clang-format off
static const bool special[256] = {
        [0x00 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x80 ... 0xff] = true,
};

/* The byte that the letter behind a backslash stands for; 'u' has digits behind it. */
static const char unescaped[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f',
        ['n'] = '\n', ['r'] = '\r', ['t'] = '\t', ['u'] = 'u',
};
// clang-format on

#define EVERY_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/*
 * True when eight bytes are all plain. Subtracting sets the high bit of a byte that is below the
 * limit. The borrow may change the bytes above it, but then a byte that is not plain has already
 * been found.
 */
static bool is_plain(const char *bytes) {
        uint64_t word, quote, backslash;

        memcpy(&word, bytes, sizeof(word));
        quote = word ^ EVERY_BYTE('"');
        backslash = word ^ EVERY_BYTE('\\');
        return ((word | (word - EVERY_BYTE(0x20)) | (quote - EVERY_BYTE(1)) |
                 (backslash - EVERY_BYTE(1))) &
                EVERY_BYTE(0x80)) == 0;
}

static const char *skip_plain(const char *at, const char *limit) {
        while (limit - at >= 8 && is_plain(at))
                at += 8;
        while (at < limit && !special[(unsigned char) *at])
                at++;
        return at;
}

static int skip_character(JsonInput *input) {
        unsigned char lead = (unsigned char) *input->at;
        size_t n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        int r;

        if (lead < 0xc2 || lead > 0xf4)
                return json_input_fail(input, "invalid UTF-8 in a string");
        r = json_input_need(input, n, cut_off);
        if (r != 0)
                return r;
        if (utf8_character((Span){ input->at, n }) != n)
                return json_input_fail(input, "invalid UTF-8 in a string");
        input->at += n;
        return 0;
}

/* The digits of \u are skipped like plain characters here; decode() checks them. */
static int skip_escape(JsonInput *input) {
        int r = json_input_need(input, 2, cut_off);

        if (r != 0)
                return r;
        if (!unescaped[(unsigned char) input->at[1]])
                return json_input_fail(input, bad_escape);
        input->at += 2;
        return 0;
}

/* Four hexadecimal digits at @digits, or -1. */
static int32_t parse_unit(Span digits) {
        int32_t unit = 0;

        if (digits.n < 4)
                return -1;
        for (size_t i = 0; i < 4; i++) {
                char c = digits.bytes[i];

                if (c >= '0' && c <= '9')
                        unit = unit << 4 | (c - '0');
                else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
                        unit = unit << 4 | ((c | 0x20) - 'a' + 10);
                else
                        return -1;
        }
        return unit;
}

/*
 * *ret is the character of the "\uXXXX" or the surrogate pair at the start of @text, *ret_n the
 * length of that. Returns NULL or a complaint.
 */
static const char *parse_character(Span text, uint32_t *ret, size_t *ret_n) {
        int32_t unit = parse_unit((Span){ text.bytes + 2, text.n - 2 }), low = -1;

        if (unit < 0)
                return bad_escape;
        if (unit == 0)
                return "\\u0000 in a string";
        if (unit < 0xd800 || unit > 0xdfff) {
                *ret = (uint32_t) unit;
                *ret_n = 6;
                return NULL;
        }
        if (text.n >= 12 && text.bytes[6] == '\\' && text.bytes[7] == 'u')
                low = parse_unit((Span){ text.bytes + 8, text.n - 8 });
        if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
                return "an unpaired surrogate in a string";
        *ret = 0x10000 + ((uint32_t) (unit - 0xd800) << 10 | (uint32_t) (low - 0xdc00));
        *ret_n = 12;
        return NULL;
}

static int append_character(Buffer *buffer, uint32_t character) {
        char bytes[4];
        size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };

        for (size_t i = n; i-- > 1; character >>= 6)
                bytes[i] = (char) (0x80 | (character & 0x3f));
        bytes[0] = (char) (leads[n] | character);
        return buffer_append(buffer, bytes, n);
}

static int append_unescaped(JsonInput *input, Span *text, Buffer *buffer) {
        char letter = text->bytes[1];
        const char *complaint;
        uint32_t character;
        size_t n = 2;
        int r;

        if (letter == 'u') {
                complaint = parse_character(*text, &character, &n);
                if (complaint) {
                        input->at = text->bytes;
                        return json_input_fail(input, complaint);
                }
                r = append_character(buffer, character);
        } else
                r = buffer_append_byte(buffer, unescaped[(unsigned char) letter]);
        *text = (Span){ text->bytes + n, text->n - n };
        return r;
}

static int decode(JsonInput *input, Span text, Buffer *decoded) {
        char *room;
        int r;

        buffer_clear(decoded);
        r = buffer_reserve(decoded, text.n, &room); /* once: decoding never makes it longer */
        if (r < 0)
                return r;
        for (;;) {
                const char *escape = text.n > 0 ? memchr(text.bytes, '\\', text.n) : NULL;
                size_t n = escape ? (size_t) (escape - text.bytes) : text.n;

                r = buffer_append(decoded, text.bytes, n);
                if (r < 0 || !escape)
                        return r;
                text = (Span){ escape, text.n - n };
                r = append_unescaped(input, &text, decoded);
                if (r != 0)
                        return r;
        }
}

int json_string_read(JsonInput *input, Buffer *decoded, Span *ret) {
        bool is_escaped = false;
        Span content;
        int r;

        r = json_input_need(input, 1, cut_off);
        if (r != 0)
                return r;
        input->at++;
        for (;;) {
                size_t n_token = (size_t) (input->end - input->token);

                n_token = MIN_OF(n_token, input->max_token_bytes);
                input->at = skip_plain(input->at, input->token + n_token);
                r = json_input_need(input, 1, cut_off);
                if (r != 0)
                        return r;

                if (!special[(unsigned char) *input->at])
                        continue; /* it has only now been fetched */
                if (*input->at == '"')
                        break;
                if (*input->at == '\\') {
                        is_escaped = true;
                        r = skip_escape(input);
                } else if ((unsigned char) *input->at >= 0x80)
                        r = skip_character(input);
                else
                        r = json_input_fail(input, "a control character in a string");
                if (r != 0)
                        return r;
        }
        input->at++;
        content = (Span){ input->token + 1, (size_t) (input->at - input->token) - 2 };
        if (is_escaped) {
                r = decode(input, content, decoded);
                if (r != 0)
                        return r;
                content = buffer_span(decoded);
        }
        *ret = content;
        return 0;
}

/* numbers */

/* A sign, as many digits as always fit 64 bits, and the byte after them. */
#define FAST_DIGITS (NUMBER_U64_CHARS - 1)
#define FAST_BYTES (1 + FAST_DIGITS + 1)

// clang-format off
static const bool in_number[256] = {
        ['0' ... '9'] = true, ['-'] = true, ['+'] = true, ['.'] = true, ['e'] = true, ['E'] = true,
};
// clang-format on

/*
 * Appends the digits among the eight bytes, up to the first byte that is none, to the number in
 * *value. Returns how many they are.
 */
static unsigned parse_eight(const char *bytes, uint64_t *value) {
        static const uint32_t powers[] = { 1,      10,      100,      1000,     10000,
                                           100000, 1000000, 10000000, 100000000 };
        uint64_t word, others;
        unsigned n;

        memcpy(&word, bytes, sizeof(word));
        /* The first byte is the lowest one. Digits become 0 to 9, and no other byte does. */
        word = le64toh(word) ^ UINT64_C(0x3030303030303030);
        /* A byte that is no digit may carry into those behind it, which do not matter then. */
        others = (word | (word + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
        n = others != 0 ? (unsigned) __builtin_ctzll(others) / 8 : 8;
        if (n == 0)
                return 0;
        word <<= 8 * (8 - n); /* zeros before the digits */
        /* Neighbours join: pairs of 8 bits to 2 digits, of 16 to 4, of 32 to 8. */
        word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
        word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
        word = (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
        *value = *value * powers[n] + word;
        return n;
}

/* *ret is the byte at @at if it can be part of a number, else 0. */
static int peek(JsonInput *input, char *ret) {
        bool more = true;
        int r;

        if (input->at == input->end) {
                r = json_input_fetch(input, &more);
                if (r != 0)
                        return r;
        }
        if (!more || !in_number[(unsigned char) *input->at]) {
                *ret = '\0';
                return 0;
        }
        if ((size_t) (input->at - input->token) >= input->max_token_bytes)
                return json_input_fail(input, "a number is too long");
        *ret = *input->at;
        return 0;
}

/*
 * Reads one digit or more, into @number unless it is NULL. *ret is the byte after them, as in
 * peek().
 */
static int read_digits(JsonInput *input, JsonNumber *number, char *ret) {
        bool first = true;
        char c;
        int r;

        for (;; first = false, input->at++) {
                unsigned digit;

                r = peek(input, &c);
                if (r != 0)
                        return r;
                digit = (unsigned char) c - (unsigned) '0';
                if (digit > 9)
                        break;
                if (number && !number->is_real &&
                    (__builtin_mul_overflow(number->magnitude, 10, &number->magnitude) ||
                     __builtin_add_overflow(number->magnitude, digit, &number->magnitude)))
                        number->is_real = true;
        }
        if (first)
                return json_input_fail(input, "a number lacks a digit");
        *ret = c;
        return 0;
}

static int read_slow(JsonInput *input, JsonNumber *ret) {
        JsonNumber number = {};
        char c;
        int r;

        input->at = input->token;
        r = peek(input, &c);
        if (r != 0)
                return r;
        if (c == '-') {
                number.negative = true;
                input->at++;
                r = peek(input, &c);
                if (r != 0)
                        return r;
        }
        if (c == '0') {
                input->at++;
                r = peek(input, &c);
                if (r == 0 && c >= '0' && c <= '9')
                        r = json_input_fail(input, "a number starts with a zero");
        } else
                r = read_digits(input, &number, &c);
        if (r != 0)
                return r;
        if (c == '.') {
                number.is_real = true;
                input->at++;
                r = read_digits(input, NULL, &c);
                if (r != 0)
                        return r;
        }
        if (c == 'e' || c == 'E') {
                number.is_real = true;
                input->at++;
                r = peek(input, &c);
                if (r != 0)
                        return r;
                if (c == '+' || c == '-')
                        input->at++;
                r = read_digits(input, NULL, &c);
                if (r != 0)
                        return r;
        }
        number.negative = number.negative && number.magnitude > 0;
        *ret = number;
        return 0;
}

/*
 * Reads an integer of at most FAST_DIGITS digits, behind which there are bytes of the window.
 * Returns its end; NULL: it may be something else, which read_slow() looks at.
 */
static inline const char *read_short(const char *start, uint64_t *ret) {
        const char *at = start, *limit = start + FAST_DIGITS;
        uint64_t value = 0;

        at += parse_eight(at, &value);
        /* Where the second eight are does not depend on the first: a processor need not wait. */
        if (at == start + 8)
                at = start + 8 + parse_eight(start + 8, &value);
        if (at == start + 16)
                while (at < limit && (unsigned char) *at - (unsigned) '0' <= 9)
                        value = value * 10 + ((unsigned char) *at++ - (unsigned) '0');
        if (at == start || in_number[(unsigned char) *at] || (*start == '0' && at > start + 1))
                return NULL;
        *ret = value;
        return at;
}

int json_number_read(JsonInput *input, JsonNumber *ret) {
        const char *start = input->token + (*input->token == '-' ? 1 : 0), *end;
        uint64_t value;

        if (input->end - input->token < FAST_BYTES || input->max_token_bytes < FAST_BYTES)
                return read_slow(input, ret);
        end = read_short(start, &value);
        if (!end)
                return read_slow(input, ret);
        input->at = end;
        *ret = (JsonNumber){
                .magnitude = value,
                .negative = start > input->token && value > 0,
        };
        return 0;
}

size_t json_counts_read(JsonInput *input, uint64_t *ret, size_t n) {
        const char *end;
        size_t i;

        if (input->max_token_bytes < FAST_BYTES)
                return 0;
        for (i = 0; i < n && input->end - input->at > FAST_BYTES && *input->at == ','; i++) {
                end = read_short(input->at + 1, &ret[i]);
                if (!end)
                        break;
                input->token = input->at + 1;
                input->at = end;
        }
        return i;
}
