/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Buffer
 *
 * Growing bytes with a ceiling. An append either happens whole or fails with -ENOMEM, or with
 * -EMSGSIZE past @max_bytes, and then leaves the content as it was. The memory is kept by
 * buffer_clear(), so a buffer in a loop allocates a few times in all.
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
} Buffer;

static inline void buffer_init(Buffer *buffer, size_t max_bytes) {
        *buffer = (Buffer){ .max_bytes = max_bytes };
}
/* Releases the memory; the buffer is empty and usable again. */
void buffer_done(Buffer *buffer);

static inline void buffer_clear(Buffer *buffer) {
        buffer->n = 0;
}
static inline Span buffer_span(const Buffer *buffer) {
        return (Span){ buffer->bytes, buffer->n };
}

/* Room for @n more bytes behind the content; *ret is valid until the next growth. */
_must_check_ int buffer_reserve(Buffer *buffer, size_t n, char **ret);
_must_check_ int buffer_append(Buffer *buffer, const void *bytes, size_t n);
_must_check_ int buffer_append_text(Buffer *buffer, const char *text);
_must_check_ int buffer_append_byte(Buffer *buffer, char byte);
_must_check_ int buffer_append_u64(Buffer *buffer, uint64_t value);
_must_check_ int buffer_append_format(Buffer *buffer, const char *format, ...) _printf_(2, 3);
/* Ends the content with a NUL that is not counted in n; *ret is the content as a C string. */
_must_check_ int buffer_terminate(Buffer *buffer, const char **ret);
/* Removes the first @n bytes. */
void buffer_drop_front(Buffer *buffer, size_t n);
/* Moves the bytes out as an owned, NUL-terminated string. */
_must_check_ int buffer_take_text(Buffer *buffer, char **ret);
