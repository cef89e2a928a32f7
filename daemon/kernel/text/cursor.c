/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/cursor.h"

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

static Span trim_blanks(Span text) {
        while (text.n > 0 && is_blank(text.bytes[0])) {
                text.bytes++;
                text.n--;
        }
        while (text.n > 0 && is_blank(text.bytes[text.n - 1]))
                text.n--;
        return text;
}

/* The text before @at and the text after it. */
static void split_at(Span text, const char *at, Span *ret_left, Span *ret_right) {
        size_t n_left = (size_t) (at - text.bytes);

        *ret_left = (Span){ text.bytes, n_left };
        *ret_right = (Span){ at + 1, text.n - n_left - 1 };
}

bool cursor_line(Cursor *cursor, Span *ret) {
        Span rest = cursor_rest(cursor);
        const char *newline = rest.n > 0 ? memchr(rest.bytes, '\n', rest.n) : NULL;

        if (!newline)
                return false;
        *ret = (Span){ rest.bytes, (size_t) (newline - rest.bytes) };
        cursor->at = newline + 1;
        return true;
}

bool cursor_word(Cursor *cursor, Span *ret) {
        const char *start;

        while (cursor->at < cursor->end && is_blank(*cursor->at))
                cursor->at++;
        start = cursor->at;
        while (cursor->at < cursor->end && !is_blank(*cursor->at))
                cursor->at++;
        *ret = (Span){ start, (size_t) (cursor->at - start) };
        return ret->n > 0;
}

bool cursor_colon_pair(Cursor *cursor, Span *ret_key, Span *ret_value) {
        Span line, key, value;

        while (cursor_line(cursor, &line)) {
                const char *colon = line.n > 0 ? memchr(line.bytes, ':', line.n) : NULL;

                if (!colon)
                        continue;
                split_at(line, colon, &key, &value);
                *ret_key = trim_blanks(key);
                *ret_value = trim_blanks(value);
                return true;
        }
        return false;
}

bool cursor_flat_pair(Cursor *cursor, Span *ret_key, Span *ret_value) {
        Span line, key;

        while (cursor_line(cursor, &line)) {
                Cursor words = cursor_over(line);

                if (!cursor_word(&words, &key))
                        continue;
                *ret_key = key;
                *ret_value = trim_blanks(cursor_rest(&words));
                return true;
        }
        return false;
}

bool cursor_assignment(Cursor *cursor, Span *ret_key, Span *ret_value) {
        Span word;

        while (cursor_word(cursor, &word)) {
                const char *sign = memchr(word.bytes, '=', word.n);

                if (!sign)
                        continue;
                split_at(word, sign, ret_key, ret_value);
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
