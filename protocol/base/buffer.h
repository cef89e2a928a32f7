/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Buffer
 *
 * Growing bytes with a ceiling. An append either happens whole or fails with -ENOMEM, or with
 * -EMSGSIZE past @max_bytes, and then leaves the content as it was. The first failure sticks: later
 * appends do nothing and return it again. A caller that appends many pieces therefore asks once, at
 * the end, with buffer_failure() or when it takes the content out. buffer_clear() and
 * buffer_truncate() forget the failure. buffer_clear() keeps the memory, so a buffer in a loop
 * allocates a few times in all.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"

typedef struct Buffer {
        char *bytes;
        size_t n;
        size_t n_allocated;
        size_t max_bytes; /* 0: no ceiling */
        int failure;      /* 0, or the first one since the buffer was empty */
} Buffer;

static inline void buffer_init(Buffer *buffer, size_t max_bytes) {
        *buffer = (Buffer){ .max_bytes = max_bytes };
}
/* Releases the memory; the buffer is empty and usable again. */
void buffer_done(Buffer *buffer);

static inline void buffer_clear(Buffer *buffer) {
        buffer->n = 0;
        buffer->failure = 0;
}
/* Takes back everything after the first @n bytes, and the failure. */
static inline void buffer_truncate(Buffer *buffer, size_t n) {
        buffer->n = n;
        buffer->failure = 0;
}
/* 0 when every append so far happened; else the first failure, -ENOMEM or -EMSGSIZE. */
static inline int buffer_failure(const Buffer *buffer) {
        return buffer->failure;
}
static inline Span buffer_span(const Buffer *buffer) {
        return (Span){ buffer->bytes, buffer->n };
}

/* Room for @n more bytes behind the content; *ret is valid until the next growth. */
_must_check_ int buffer_reserve(Buffer *buffer, size_t n, char **ret);
/* 0, or the failure that sticks. */
int buffer_append(Buffer *buffer, const void *bytes, size_t n);
int buffer_append_text(Buffer *buffer, const char *text);
int buffer_append_byte(Buffer *buffer, char byte);
int buffer_append_u64(Buffer *buffer, uint64_t value);
int buffer_append_format(Buffer *buffer, const char *format, ...) _printf_(2, 3);
/* Ends the content with a NUL that is not counted in n; *ret is the content as a C string. */
_must_check_ int buffer_terminate(Buffer *buffer, const char **ret);
/* Removes the first @n bytes. */
void buffer_drop_front(Buffer *buffer, size_t n);
/* Moves the bytes out as an owned, NUL-terminated string. */
_must_check_ int buffer_take_text(Buffer *buffer, char **ret);
