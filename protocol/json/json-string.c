/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-string.h"

#include <stdint.h>
#include <string.h>

#include "base/name.h"

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

/* Moves @at behind the closing quote. */
static int skip_string(JsonInput *input, bool *ret_escaped) {
        bool escaped = false;
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
                        escaped = true;
                        r = skip_escape(input);
                } else if ((unsigned char) *input->at >= 0x80)
                        r = skip_character(input);
                else
                        r = json_input_fail(input, "a control character in a string");
                if (r != 0)
                        return r;
        }
        input->at++;
        *ret_escaped = escaped;
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
        Span content;
        bool escaped;
        int r;

        r = skip_string(input, &escaped);
        if (r != 0)
                return r;
        content = (Span){ input->token + 1, (size_t) (input->at - input->token) - 2 };
        if (escaped) {
                r = decode(input, content, decoded);
                if (r != 0)
                        return r;
                content = buffer_span(decoded);
        }
        *ret = content;
        return 0;
}
