/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Printable
 *
 * Text from outside in a form that is safe for a terminal. Names of threads and cgroups can be any
 * bytes, and must not move the cursor or hide other text. Bytes that are not valid UTF-8, control
 * characters and the invisible characters that reorder or hide text become \xNN; everything else is
 * unchanged.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/* Both append to @buffer, and return 0 or its failure, which sticks. */
int printable_append(Buffer *buffer, Span bytes);
/* A name from JSON: its escape (base/name.h) is undone first. */
int printable_append_name(Buffer *buffer, Span text);

/* Columns that printable text takes on a terminal. */
size_t printable_width(Span text);
/*
 * Counts the bytes at the start of printable @text that fit into @n_columns. *ret_width is the
 * columns that these take; @ret_width may be NULL.
 */
size_t printable_fit(Span text, size_t n_columns, size_t *ret_width);
/*
 * The same, of at most @n_bytes: characters without a width make a text of any length fit into a
 * column, but not into an array.
 */
size_t printable_cut(Span text, size_t n_columns, size_t n_bytes);
/*
 * Appends printable @text, or what @n_columns have room for of its end, which says more of a path:
 * "…/postgresql.service", whole components if they are short enough. @n_columns is not 0.
 * 0 or the failure of @buffer.
 */
int printable_append_end(Buffer *buffer, Span text, size_t n_columns);
