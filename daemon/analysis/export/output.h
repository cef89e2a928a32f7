/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Output
 *
 * Writes text to a file or pipe of the caller, as it is or as one zstd frame. Writers fill the
 * buffer and call output_drain() now and then, so memory does not grow with the text.
 */

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"

typedef enum OutputForm {
        OUTPUT_PLAIN,
        OUTPUT_ZSTD,
} OutputForm;

typedef struct Output Output;

/* @fd is borrowed. */
_must_check_ int output_new(int fd, OutputForm form, Output **ret);
Output *output_free(Output *output);
DEFINE_CLEANUP(Output *, output_free);

/* Write here; borrowed. */
Buffer *output_buffer(Output *output);
/* Writes the buffer out once it is large enough. -ENOSPC, -EIO ... of write(2). */
_must_check_ int output_drain(Output *output);
/* Writes the rest and ends the frame. */
_must_check_ int output_finish(Output *output);
