/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Cursor
 *
 * The four grammars of kernel text, each a function that takes what it reads off the beginning of
 * borrowed bytes. The kernel ends every line with a newline, so bytes after the last newline are a
 * line that was cut: they are never handed out, as a number in them could be the beginning of a
 * longer one. Blanks are spaces and tabs.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

/* The bytes not consumed yet. If any are left after the last line, that line was cut. */
typedef Span Cursor;

/* The next line, without its newline; false when no complete one is left. */
bool cursor_line(Cursor *cursor, Span *ret);

/* Positional words (stat, schedstat): the next run of non-blanks. @cursor runs over one line. */
bool cursor_word(Cursor *cursor, Span *ret);

/*
 * "key: value" lines (status, io, sched, smaps_rollup): the next line that has a colon, split at
 * its first one, both sides trimmed. Lines without a colon are skipped.
 */
bool cursor_colon_pair(Cursor *cursor, Span *ret_key, Span *ret_value);

/*
 * Flat "key value" lines (cpu.stat, memory.stat): the next line that is not blank, split after its
 * first word; the value, trimmed, may be empty.
 */
bool cursor_flat_pair(Cursor *cursor, Span *ret_key, Span *ret_value);

/*
 * Words of "key=value" (pressure, io.stat): the next word that has an equals sign, split at its
 * first one. Words without one are skipped. @cursor runs over one line.
 */
bool cursor_assignment(Cursor *cursor, Span *ret_key, Span *ret_value);

/* @text without the blanks and newlines at its ends: the value of a one-value file. */
Span text_trim(Span text);

/*
 * "123.45" in units of 10^-@decimals, exactly: the fraction is padded or cut to that many digits.
 * Without a point the text is an integer of whole units. False unless it is digits with at most one
 * point between them, or when it does not fit.
 */
bool text_parse_decimal(Span text, unsigned decimals, uint64_t *ret);
