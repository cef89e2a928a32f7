/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void buffer_done(Buffer *buffer) {
        free(buffer->bytes);
        *buffer = (Buffer){ .max_bytes = buffer->max_bytes };
}

static int fail(Buffer *buffer, int failure) {
        buffer->failure = failure;
        return failure;
}

int buffer_reserve(Buffer *buffer, size_t n, char **ret) {
        size_t wanted, grown;
        char *bytes;

        if (buffer->failure != 0)
                return buffer->failure;
        if (__builtin_add_overflow(buffer->n, n, &wanted))
                return fail(buffer, -ENOMEM);
        if (buffer->max_bytes > 0 && wanted > buffer->max_bytes)
                return fail(buffer, -EMSGSIZE);
        if (wanted > buffer->n_allocated || !buffer->bytes) {
                grown = buffer->n_allocated < 256 ? 256 : buffer->n_allocated;
                while (grown < wanted)
                        if (__builtin_mul_overflow(grown, 2, &grown))
                                return fail(buffer, -ENOMEM);
                bytes = realloc(buffer->bytes, grown);
                if (!bytes)
                        return fail(buffer, -ENOMEM);
                buffer->bytes = bytes;
                buffer->n_allocated = grown;
        }
        *ret = buffer->bytes + buffer->n;
        return 0;
}

int buffer_append(Buffer *buffer, const void *bytes, size_t n) {
        char *end;
        int r;

        if (n == 0)
                return buffer->failure;
        r = buffer_reserve(buffer, n, &end);
        if (r != 0)
                return r;
        memcpy(end, bytes, n);
        buffer->n += n;
        return 0;
}

int buffer_append_text(Buffer *buffer, const char *text) {
        return buffer_append(buffer, text, strlen(text));
}

int buffer_append_byte(Buffer *buffer, char byte) {
        return buffer_append(buffer, &byte, 1);
}

int buffer_append_u64(Buffer *buffer, uint64_t value) {
        char digits[NUMBER_U64_CHARS];

        return buffer_append(buffer, digits, number_format_u64(value, digits));
}

int buffer_append_format(Buffer *buffer, const char *format, ...) {
        va_list args;
        char *end;
        int n, r;

        va_start(args, format);
        n = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (n < 0)
                return fail(buffer, -EINVAL);

        r = buffer_reserve(buffer, (size_t) n + 1, &end);
        if (r != 0)
                return r;
        va_start(args, format);
        n = vsnprintf(end, (size_t) n + 1, format, args);
        va_end(args);
        assert(n >= 0);
        buffer->n += (size_t) n;
        return 0;
}

int buffer_terminate(Buffer *buffer, const char **ret) {
        char *end;
        int r;

        r = buffer_reserve(buffer, 1, &end);
        if (r != 0)
                return r;
        *end = '\0';
        *ret = buffer->bytes;
        return 0;
}

void buffer_drop_front(Buffer *buffer, size_t n) {
        assert(n <= buffer->n);
        if (n == 0)
                return;
        memmove(buffer->bytes, buffer->bytes + n, buffer->n - n);
        buffer->n -= n;
}

int buffer_take_text(Buffer *buffer, char **ret) {
        const char *text;
        int r;

        r = buffer_terminate(buffer, &text);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(buffer->bytes);
        buffer->n = buffer->n_allocated = 0;
        return 0;
}
