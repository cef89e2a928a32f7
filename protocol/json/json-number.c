/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json-number.h"

#include <endian.h>
#include <string.h>

#include "base/number.h"

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

/*
 * Reads an integer of at most FAST_DIGITS digits that is wholly in the window; false if the number
 * may be something else, and read_slow() must look.
 */
static bool read_fast(JsonInput *input, JsonNumber *ret) {
        const char *start = input->token + (*input->token == '-' ? 1 : 0), *at = start, *limit;
        uint64_t value = 0;

        if (input->end - input->token < FAST_BYTES || input->max_token_bytes < FAST_BYTES)
                return false;
        limit = start + FAST_DIGITS;
        at += parse_eight(at, &value);
        if (at == start + 8)
                at += parse_eight(at, &value);
        if (at == start + 16)
                while (at < limit && (unsigned char) *at - (unsigned) '0' <= 9)
                        value = value * 10 + ((unsigned char) *at++ - (unsigned) '0');
        if (at == start || in_number[(unsigned char) *at] || (*start == '0' && at > start + 1))
                return false;

        input->at = at;
        *ret = (JsonNumber){
                .magnitude = value,
                .negative = start > input->token && value > 0,
        };
        return true;
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

int json_number_read(JsonInput *input, JsonNumber *ret) {
        return read_fast(input, ret) ? 0 : read_slow(input, ret);
}
