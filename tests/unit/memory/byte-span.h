/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ByteSpan
 *
 * A file that is bytes in memory. It may lose its end, or fail, while it is read.
 */

#include <string.h>

#include "base/span.h"
#include "kernel/memory/elf-file.h"

typedef struct ByteSpan {
        Span bytes;
        int error;           /* what reading answers instead; 0: nothing */
        uint64_t fails_from; /* offset from which it does */
        uint64_t n_reads;
} ByteSpan;

static inline int byte_span_read(void *userdata, uint64_t offset, void *ret, size_t n) {
        ByteSpan *file = userdata;

        file->n_reads++;
        if (file->error != 0 && offset + n > file->fails_from)
                return file->error;
        if (offset > file->bytes.n || file->bytes.n - offset < n)
                return BYTES_E_SHORT;
        memcpy(ret, file->bytes.bytes + offset, n);
        return 0;
}

static inline ByteSource byte_span_source(ByteSpan *file) {
        return (ByteSource){ .size = file->bytes.n, .read = byte_span_read, .userdata = file };
}
