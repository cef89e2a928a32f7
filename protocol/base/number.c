/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/number.h"

#include <string.h>

bool number_parse_u64(Span text, uint64_t *ret) {
        uint64_t value = 0;

        if (text.n == 0)
                return false;
        for (size_t i = 0; i < text.n; i++) {
                unsigned digit = (unsigned) (unsigned char) text.bytes[i] - '0';

                if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, digit, &value))
                        return false;
        }
        *ret = value;
        return true;
}

bool number_parse_i64(Span text, int64_t *ret) {
        bool negative = text.n > 0 && text.bytes[0] == '-';
        uint64_t magnitude;

        if (negative)
                text = (Span){ text.bytes + 1, text.n - 1 };
        if (!number_parse_u64(text, &magnitude) ||
            magnitude > (uint64_t) INT64_MAX + (negative ? 1 : 0))
                return false;
        *ret = negative ? (int64_t) (0 - magnitude) : (int64_t) magnitude;
        return true;
}

bool number_parse_u32(Span text, uint32_t *ret) {
        uint64_t value;

        if (!number_parse_u64(text, &value) || value > UINT32_MAX)
                return false;
        *ret = (uint32_t) value;
        return true;
}

size_t number_format_u64(uint64_t value, char *ret_digits) {
        char reversed[NUMBER_U64_CHARS];
        size_t n = 0;

        do {
                reversed[n++] = (char) ('0' + value % 10);
                value /= 10;
        } while (value > 0);
        for (size_t i = 0; i < n; i++)
                ret_digits[i] = reversed[n - 1 - i];
        return n;
}

size_t number_format_i64(int64_t value, char *ret_digits) {
        if (value >= 0)
                return number_format_u64((uint64_t) value, ret_digits);
        ret_digits[0] = '-';
        return 1 + number_format_u64(0 - (uint64_t) value, ret_digits + 1);
}
