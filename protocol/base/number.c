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

bool number_parse_hex(Span text, uint64_t *ret) {
        uint64_t value = 0;

        if (text.n == 0)
                return false;
        for (size_t i = 0; i < text.n; i++) {
                char c = text.bytes[i];
                unsigned digit = 16;

                if (c >= '0' && c <= '9')
                        digit = (unsigned) (c - '0');
                else if (c >= 'a' && c <= 'f')
                        digit = 10 + (unsigned) (c - 'a');
                if (digit == 16 || value >> 60 != 0)
                        return false;
                value = value << 4 | digit;
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

// clang-format off
static const char digit_pairs[] =
        "00010203040506070809" "10111213141516171819" "20212223242526272829" "30313233343536373839"
        "40414243444546474849" "50515253545556575859" "60616263646566676869" "70717273747576777879"
        "80818283848586878889" "90919293949596979899";

static const uint64_t powers_of_ten[NUMBER_U64_CHARS] = {
        UINT64_C(0), /* even zero has one digit */
        UINT64_C(10), UINT64_C(100), UINT64_C(1000),
        UINT64_C(10000), UINT64_C(100000), UINT64_C(1000000),
        UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000),
        UINT64_C(10000000000), UINT64_C(100000000000), UINT64_C(1000000000000),
        UINT64_C(10000000000000), UINT64_C(100000000000000), UINT64_C(1000000000000000),
        UINT64_C(10000000000000000), UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
};
// clang-format on

/* 1233 / 4096 is a little less than log10(2); the comparison corrects the estimate. */
size_t number_u64_chars(uint64_t value) {
        unsigned n = (64 - (unsigned) __builtin_clzll(value | 1)) * 1233 >> 12;

        return n + (value >= powers_of_ten[n] ? 1 : 0);
}

size_t number_format_u64(uint64_t value, char *ret_digits) {
        size_t n, at;

        /* Most numbers of most threads are 0. */
        if (value < 10) {
                ret_digits[0] = (char) ('0' + value);
                return 1;
        }
        n = at = number_u64_chars(value);
        while (value >= 100) {
                at -= 2;
                memcpy(ret_digits + at, digit_pairs + 2 * (value % 100), 2);
                value /= 100;
        }
        if (value >= 10)
                memcpy(ret_digits, digit_pairs + 2 * value, 2);
        else
                ret_digits[0] = (char) ('0' + value);
        return n;
}

size_t number_format_i64(int64_t value, char *ret_digits) {
        if (value >= 0)
                return number_format_u64((uint64_t) value, ret_digits);
        ret_digits[0] = '-';
        return 1 + number_format_u64(0 - (uint64_t) value, ret_digits + 1);
}
