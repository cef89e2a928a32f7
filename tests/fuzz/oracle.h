/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Oracle
 *
 * The grammars of kernel text once more, in the plainest way: byte by byte, slow, with nothing of
 * the daemon's. What a target reads is held against what these find.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

/* strtoull(3) and every check that it leaves to its caller: digits, all of it, no overflow. */
bool oracle_u64(Span text, uint64_t *ret);
/* Likewise with strtoll(3) and a minus sign allowed. */
bool oracle_i64(Span text, int64_t *ret);
/* "12.5" in units of 10^-@decimals, in 128 bits. */
bool oracle_decimal(Span text, unsigned decimals, uint64_t *ret);

/* Without the blanks at its ends. */
Span oracle_trim(Span text);
/* The line at *offset, which is moved behind it; false when no newline follows. */
bool oracle_line(Span text, size_t *offset, Span *ret);
/* The run of bytes without a blank at *offset; false when there is none. */
bool oracle_word(Span line, size_t *offset, Span *ret);
/* Both sides of the first @separator of @text; false without one. */
bool oracle_split(Span text, char separator, Span *ret_left, Span *ret_right);

/* How many lines "key: value" have @key (of at least 1 byte); *ret is the value of the first. */
unsigned oracle_colon_value(Span text, Span key, Span *ret);
/* How many lines "key value" have @key; likewise. */
unsigned oracle_flat_value(Span text, Span key, Span *ret);

/* Whether @text is complete lines and nothing else. */
bool oracle_is_whole(Span text);
/* Whether @part lies within @whole. */
bool oracle_is_within(Span part, Span whole);
