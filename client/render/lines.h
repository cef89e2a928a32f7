/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Lines
 *
 * Lines with labels: the block above a table, the output of info and status. On a terminal they are
 * broken between words, but not behind a number, which stays with what it counts. The text has a
 * column of its own that begins in the next line if the label is too long. A pipe gets whole lines,
 * and a page of HTML, which breaks them itself, gets them as JSON.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "render/json-out.h"
#include "render/terminal.h"

typedef struct Lines {
        FILE *out;
        const Terminal *terminal;
        size_t label_columns; /* the width that labels are padded to */
        size_t max_lines;     /* a text that takes more of a terminal is cut; 0: none is */
        JsonOut *json;        /* not NULL: in place of @out, [label, text] into this array */
} Lines;

/* True if lines_print() would cut the text. */
bool lines_cut(const Lines *lines, const char *text);
/* A text of so many columns is not broken; SIZE_MAX if none is. */
size_t lines_text_columns(const Lines *lines);

/* "label  text", both printable; the label may be empty. A failed write sets ferror(lines->out). */
void lines_print(const Lines *lines, const char *label, const char *text);
/* Prints the content of a buffer. 0, or its failure, which sticks. */
_must_check_ int lines_print_buffer(const Lines *lines, const char *label, Buffer *text);
void lines_format(const Lines *lines, const char *label, const char *format, ...) _printf_(3, 4);
