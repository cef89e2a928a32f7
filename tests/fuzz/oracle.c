/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oracle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "fuzz.h"

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

/* As a C string. */
static char *text_of(Span text) {
        char *copy = malloc(text.n + 1);

        fuzz_expect(copy, "there is memory for %zu bytes", text.n);
        for (size_t i = 0; i < text.n; i++)
                copy[i] = text.bytes[i];
        copy[text.n] = '\0';
        return copy;
}

bool oracle_u64(Span text, uint64_t *ret) {
        _cleanup_(freep) char *digits = text_of(text);
        char *end;

        if (digits[0] < '0' || digits[0] > '9')
                return false; /* strtoull(3) takes blanks and signs */
        errno = 0;
        *ret = strtoull(digits, &end, 10);
        return errno == 0 && end == digits + text.n;
}

bool oracle_i64(Span text, int64_t *ret) {
        _cleanup_(freep) char *digits = text_of(text);
        char first = digits[digits[0] == '-' ? 1 : 0];
        char *end;

        if (first < '0' || first > '9')
                return false;
        errno = 0;
        *ret = strtoll(digits, &end, 10);
        return errno == 0 && end == digits + text.n;
}

bool oracle_decimal(Span text, unsigned decimals, uint64_t *ret) {
        Span whole = text, fraction = { "0", 1 };
        __extension__ unsigned __int128 value = 0;

        (void) oracle_split(text, '.', &whole, &fraction);
        if (whole.n == 0 || fraction.n == 0)
                return false;
        for (size_t i = 0; i < whole.n + decimals; i++) {
                size_t at = i - whole.n;
                char c = i < whole.n ? whole.bytes[i] : at < fraction.n ? fraction.bytes[at] : '0';

                if (c < '0' || c > '9')
                        return false;
                value = 10 * value + (unsigned) (c - '0');
                if (value > UINT64_MAX)
                        value = (__extension__(unsigned __int128) UINT64_MAX) + 1;
        }
        for (size_t i = 0; i < fraction.n; i++)
                if (fraction.bytes[i] < '0' || fraction.bytes[i] > '9')
                        return false;
        *ret = (uint64_t) value;
        return value <= UINT64_MAX;
}

Span oracle_trim(Span text) {
        size_t start = 0, end = text.n;

        while (start < end && is_blank(text.bytes[start]))
                start++;
        while (end > start && is_blank(text.bytes[end - 1]))
                end--;
        return (Span){ text.n > 0 ? text.bytes + start : text.bytes, end - start };
}

bool oracle_line(Span text, size_t *offset, Span *ret) {
        for (size_t i = *offset; i < text.n; i++)
                if (text.bytes[i] == '\n') {
                        *ret = (Span){ text.bytes + *offset, i - *offset };
                        *offset = i + 1;
                        return true;
                }
        return false;
}

bool oracle_word(Span line, size_t *offset, Span *ret) {
        size_t start = *offset, end;

        while (start < line.n && is_blank(line.bytes[start]))
                start++;
        for (end = start; end < line.n && !is_blank(line.bytes[end]);)
                end++;
        *offset = end;
        if (end == start)
                return false;
        *ret = (Span){ line.bytes + start, end - start };
        return true;
}

bool oracle_split(Span text, char separator, Span *ret_left, Span *ret_right) {
        for (size_t i = 0; i < text.n; i++)
                if (text.bytes[i] == separator) {
                        *ret_left = (Span){ text.bytes, i };
                        *ret_right = (Span){ text.bytes + i + 1, text.n - i - 1 };
                        return true;
                }
        return false;
}

unsigned oracle_colon_value(Span text, Span key, Span *ret) {
        size_t offset = 0;
        unsigned n = 0;
        Span line, left, right;

        while (oracle_line(text, &offset, &line))
                if (oracle_split(line, ':', &left, &right) && span_equal(oracle_trim(left), key) &&
                    n++ == 0)
                        *ret = oracle_trim(right);
        return n;
}

unsigned oracle_flat_value(Span text, Span key, Span *ret) {
        size_t offset = 0;
        unsigned n = 0;
        Span line, word;

        while (oracle_line(text, &offset, &line)) {
                size_t at = 0;

                if (oracle_word(line, &at, &word) && span_equal(word, key) && n++ == 0)
                        *ret = oracle_trim((Span){ line.bytes + at, line.n - at });
        }
        return n;
}

bool oracle_is_whole(Span text) {
        return text.n == 0 || text.bytes[text.n - 1] == '\n';
}

bool oracle_is_within(Span part, Span whole) {
        return part.n == 0 || (part.bytes >= whole.bytes && part.n <= whole.n &&
                               part.bytes + part.n <= whole.bytes + whole.n);
}
