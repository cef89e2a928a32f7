/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/cursor.h"

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

bool cursor_line(Cursor *cursor, Span *ret) {
        const char *newline = cursor->n > 0 ? memchr(cursor->bytes, '\n', cursor->n) : NULL;
        size_t n;

        if (!newline)
                return false;
        n = (size_t) (newline - cursor->bytes);
        *ret = (Span){ cursor->bytes, n };
        *cursor = (Cursor){ newline + 1, cursor->n - n - 1 };
        return true;
}

bool cursor_word(Cursor *cursor, Span *ret) {
        size_t begin = 0, end;

        while (begin < cursor->n && is_blank(cursor->bytes[begin]))
                begin++;
        for (end = begin; end < cursor->n && !is_blank(cursor->bytes[end]);)
                end++;
        *ret = SPAN_LITERAL("");
        if (end == 0) /* no arithmetic on NULL */
                return false;
        *ret = (Span){ cursor->bytes + begin, end - begin };
        *cursor = (Cursor){ cursor->bytes + end, cursor->n - end };
        return ret->n > 0;
}

bool cursor_colon_pair(Cursor *cursor, Span *ret_key, Span *ret_value) {
        Span line;

        while (cursor_line(cursor, &line)) {
                const char *colon = line.n > 0 ? memchr(line.bytes, ':', line.n) : NULL;
                size_t n_key = colon ? (size_t) (colon - line.bytes) : 0;

                if (!colon)
                        continue;
                *ret_key = text_trim((Span){ line.bytes, n_key });
                *ret_value = text_trim((Span){ colon + 1, line.n - n_key - 1 });
                return true;
        }
        return false;
}

bool cursor_flat_pair(Cursor *cursor, Span *ret_key, Span *ret_value) {
        Span line, key;

        while (cursor_line(cursor, &line)) {
                if (!cursor_word(&line, &key))
                        continue;
                *ret_key = key;
                *ret_value = text_trim(line);
                return true;
        }
        return false;
}

bool cursor_assignment(Cursor *cursor, Span *ret_key, Span *ret_value) {
        Span word;

        while (cursor_word(cursor, &word)) {
                const char *sign = memchr(word.bytes, '=', word.n);
                size_t n_key = sign ? (size_t) (sign - word.bytes) : 0;

                if (!sign)
                        continue;
                *ret_key = (Span){ word.bytes, n_key };
                *ret_value = (Span){ sign + 1, word.n - n_key - 1 };
                return true;
        }
        return false;
}

Span text_trim(Span text) {
        while (text.n > 0 && (is_blank(text.bytes[0]) || text.bytes[0] == '\n')) {
                text.bytes++;
                text.n--;
        }
        while (text.n > 0 && (is_blank(text.bytes[text.n - 1]) || text.bytes[text.n - 1] == '\n'))
                text.n--;
        return text;
}

#define SAFE_DIGITS 19 /* so many digits always fit into 64 bits */

/* Appends a decimal digit to *value; false when it no longer fits. */
static bool push_digit(uint64_t *value, unsigned digit) {
        return !__builtin_mul_overflow(*value, 10, value) &&
               !__builtin_add_overflow(*value, digit, value);
}

bool text_parse_decimal(Span text, unsigned decimals, uint64_t *ret) {
        bool is_safe = text.n + decimals <= SAFE_DIGITS, in_fraction = false;
        uint64_t value = 0;
        unsigned n_missing = decimals;
        size_t n_digits = 0;

        for (size_t i = 0; i < text.n; i++) {
                unsigned digit = (unsigned) (unsigned char) text.bytes[i] - '0';

                if (digit > 9) {
                        if (text.bytes[i] != '.' || in_fraction || n_digits == 0)
                                return false;
                        in_fraction = true;
                        n_digits = 0;
                        continue;
                }
                n_digits++;
                if (in_fraction && n_missing == 0)
                        continue;
                n_missing -= in_fraction;
                if (is_safe)
                        value = 10 * value + digit;
                else if (!push_digit(&value, digit))
                        return false;
        }
        if (n_digits == 0)
                return false;
        for (; n_missing > 0; n_missing--)
                if (!push_digit(&value, 0))
                        return false;
        *ret = value;
        return true;
}
