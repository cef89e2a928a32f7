/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Printable
 *
 * Text from outside as a terminal may see it: names of threads and cgroups are any bytes, and none
 * of them may move a cursor or hide its neighbours. Bytes that are not valid UTF-8, control
 * characters and the invisible characters that reorder or hide text become \xNN; all else stays as
 * it is.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/* Appends @bytes. */
_must_check_ int printable_append(Buffer *buffer, Span bytes);
/* The same for a name as it stands in JSON: its escape (base/name.h) is undone first. */
_must_check_ int printable_append_name(Buffer *buffer, Span text);

/* Columns that printable text takes on a terminal. */
size_t printable_width(const char *text);
size_t printable_span_width(Span text);
/* How many bytes at the start of printable @text fit into @n_columns. */
size_t printable_fit(const char *text, size_t n_columns);
