/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Output
 *
 * Writes text to a file or pipe of the caller, as it is or as one zstd frame. Writers fill the
 * buffer and call output_drain() now and then, so memory does not grow with the text.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"

typedef enum OutputForm {
        OUTPUT_PLAIN,
        OUTPUT_ZSTD,
} OutputForm;

struct ZSTD_CCtx_s;

typedef struct Output {
        int fd;                   /* borrowed */
        struct ZSTD_CCtx_s *zstd; /* owned; NULL: plain */
        char *space;              /* owned: compressed bytes to be written */
        size_t n_space;
        Buffer buffer; /* write here */
} Output;

/* @fd is borrowed. */
_must_check_ int output_new(int fd, OutputForm form, Output **ret);
Output *output_free(Output *output);
DEFINE_CLEANUP(Output *, output_free);

/*
 * Writes the buffer out once it is large enough; at the end writes the rest and ends the frame.
 * -ENOSPC, -EIO ... of write(2).
 */
_must_check_ int output_drain(Output *output, bool is_end);
