/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/pattern.h"

#include <stdbool.h>

#define UUID_BYTES 36
#define HEX_MIN_DIGITS 4

typedef enum ByteClass {
        BYTE_OTHER = 0,
        BYTE_SEPARATOR = 1 << 0,
        BYTE_DIGIT = 1 << 1,
        BYTE_LOWER_HEX = 1 << 2, /* a-f */
        BYTE_UPPER_HEX = 1 << 3, /* A-F */
} ByteClass;

static const unsigned char classes[256] = {
        [' '] = BYTE_SEPARATOR,         ['\t'] = BYTE_SEPARATOR,        ['\n'] = BYTE_SEPARATOR,
        ['\v'] = BYTE_SEPARATOR,        ['\f'] = BYTE_SEPARATOR,        ['\r'] = BYTE_SEPARATOR,
        ['.'] = BYTE_SEPARATOR,         ['-'] = BYTE_SEPARATOR,         ['_'] = BYTE_SEPARATOR,
        ['/'] = BYTE_SEPARATOR,         [':'] = BYTE_SEPARATOR,         ['@'] = BYTE_SEPARATOR,
        ['+'] = BYTE_SEPARATOR,         ['['] = BYTE_SEPARATOR,         [']'] = BYTE_SEPARATOR,
        ['#'] = BYTE_SEPARATOR,         ['('] = BYTE_SEPARATOR,         [')'] = BYTE_SEPARATOR,
        ['='] = BYTE_SEPARATOR,         [','] = BYTE_SEPARATOR,         ['0' ... '9'] = BYTE_DIGIT,
        ['a' ... 'f'] = BYTE_LOWER_HEX, ['A' ... 'F'] = BYTE_UPPER_HEX,
};

static inline unsigned class_of(char byte) {
        return classes[(unsigned char) byte];
}

static bool all_of(Span text, unsigned wanted) {
        for (size_t i = 0; i < text.n; i++)
                if (!(class_of(text.bytes[i]) & wanted))
                        return false;
        return true;
}

static bool any_of(Span text, unsigned wanted) {
        for (size_t i = 0; i < text.n; i++)
                if (class_of(text.bytes[i]) & wanted)
                        return true;
        return false;
}

/*
 * 8-4-4-4-12 digits at the start of @text, not followed by a further hex digit: that would be a
 * longer token.
 */
static bool begins_with_uuid(Span text) {
        const unsigned hex = BYTE_DIGIT | BYTE_LOWER_HEX;
        char joint;

        if (text.n < UUID_BYTES)
                return false;
        joint = text.bytes[8];
        if (joint != '-' && joint != '_')
                return false;
        for (size_t i = 0; i < UUID_BYTES; i++) {
                bool is_joint = i == 8 || i == 13 || i == 18 || i == 23;

                if (is_joint ? text.bytes[i] != joint : !(class_of(text.bytes[i]) & hex))
                        return false;
        }
        return text.n == UUID_BYTES || !(class_of(text.bytes[UUID_BYTES]) & hex);
}

/* Appends one token: a run of bytes that are no separators. */
static void append_token(Buffer *buffer, Span token) {
        const unsigned hex = BYTE_DIGIT | BYTE_LOWER_HEX;

        if (!any_of(token, BYTE_DIGIT)) {
                buffer_append(buffer, token.bytes, token.n);
                return;
        }
        if (token.n > 2 && token.bytes[0] == '0' && token.bytes[1] == 'x' &&
            all_of((Span){ token.bytes + 2, token.n - 2 }, hex | BYTE_UPPER_HEX)) {
                buffer_append_text(buffer, "0x{H}");
                return;
        }
        if (token.n >= HEX_MIN_DIGITS && all_of(token, hex) && !all_of(token, BYTE_DIGIT)) {
                buffer_append_text(buffer, "{H}");
                return;
        }
        for (size_t i = 0, end; i < token.n; i = end) {
                bool digits = class_of(token.bytes[i]) & BYTE_DIGIT;

                for (end = i + 1; end < token.n; end++)
                        if ((bool) (class_of(token.bytes[end]) & BYTE_DIGIT) != digits)
                                break;
                if (digits)
                        buffer_append_text(buffer, "{N}");
                else
                        buffer_append(buffer, token.bytes + i, end - i);
        }
}

/* @text contains no UUID. */
static void append_tokens(Buffer *buffer, Span text) {
        for (size_t i = 0, end; i < text.n; i = end) {
                bool separators = class_of(text.bytes[i]) & BYTE_SEPARATOR;

                for (end = i + 1; end < text.n; end++)
                        if ((bool) (class_of(text.bytes[end]) & BYTE_SEPARATOR) != separators)
                                break;
                if (separators)
                        buffer_append(buffer, text.bytes + i, end - i);
                else
                        append_token(buffer, (Span){ text.bytes + i, end - i });
        }
}

int pattern_append_skeleton(Buffer *buffer, Span name) {
        size_t begin = 0, i = 0;

        if (name.n == 0) /* an unknown name has no bytes to read */
                return buffer_failure(buffer);
        while (i + UUID_BYTES <= name.n) {
                if (!begins_with_uuid((Span){ name.bytes + i, name.n - i })) {
                        i++;
                        continue;
                }
                append_tokens(buffer, (Span){ name.bytes + begin, i - begin });
                buffer_append_text(buffer, "{U}");
                begin = i += UUID_BYTES;
        }
        append_tokens(buffer, (Span){ name.bytes + begin, name.n - begin });
        return buffer_failure(buffer);
}
