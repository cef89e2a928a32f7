/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Lines
 *
 * Labelled lines: the block above a table, the answers of info and status. A terminal gets them
 * broken between words with the text in a column of its own, in the next line where the label is
 * too long for its column; a pipe gets one line each, whole.
 */

#include <stdio.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "render/terminal.h"

typedef struct Lines {
        FILE *out;
        const Terminal *terminal;
        size_t label_columns; /* what labels are padded to */
} Lines;

/* "label  text"; the label may be empty, both are printable. A failed write shows at the stream. */
void lines_print(const Lines *lines, const char *label, const char *text);
/* The same of what a buffer holds; 0 or -ENOMEM. */
_must_check_ int lines_print_buffer(const Lines *lines, const char *label, Buffer *text);
void lines_format(const Lines *lines, const char *label, const char *format, ...) _printf_(3, 4);
