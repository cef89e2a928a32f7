/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *format, ...) {
        va_list arguments;

        fprintf(stderr, "%s:%d: does not hold: ", file, line);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        abort();
}

Span fuzz_take(FuzzInput *input, size_t n) {
        Span taken = { input->at, MIN_OF(n, input->n) };

        if (taken.n > 0)
                input->at += taken.n;
        input->n -= taken.n;
        return taken;
}

static uint64_t take_number(FuzzInput *input, size_t n) {
        Span taken = fuzz_take(input, n);
        uint64_t value = 0;

        for (size_t i = 0; i < taken.n; i++)
                value |= (uint64_t) (unsigned char) taken.bytes[i] << (8 * i);
        return value;
}

uint8_t fuzz_take_u8(FuzzInput *input) {
        return (uint8_t) take_number(input, 1);
}

uint16_t fuzz_take_u16(FuzzInput *input) {
        return (uint16_t) take_number(input, 2);
}

uint64_t fuzz_take_u64(FuzzInput *input) {
        return take_number(input, 8);
}

Span fuzz_take_until(FuzzInput *input, char end) {
        const char *found = input->n > 0 ? memchr(input->at, end, input->n) : NULL;
        Span taken;

        if (!found)
                return fuzz_take_rest(input);
        taken = fuzz_take(input, (size_t) (found - input->at));
        (void) fuzz_take(input, 1);
        return taken;
}

Span fuzz_take_rest(FuzzInput *input) {
        return fuzz_take(input, input->n);
}

char *fuzz_copy(Span text) {
        char *copy;

        if (text.n == 0)
                return NULL;
        copy = malloc(text.n);
        fuzz_expect(copy, "there is memory for %zu bytes", text.n);
        return memcpy(copy, text.bytes, text.n);
}
