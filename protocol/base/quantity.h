/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Quantity
 *
 * Sizes and times as people write them for systemd, in ctprofd.conf and on the command line:
 * "4G", "1.5G", "90", "15min", "1h 30min", "infinity". Exact integers inside; what does not fit
 * into 64 bits is refused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

#define QUANTITY_INFINITY UINT64_MAX
#define QUANTITY_TEXT_BYTES 96

/* Bytes, with K, M, G, T for powers of 1024. False leaves *ret alone. */
bool quantity_parse_size(Span text, uint64_t *ret_bytes);
/*
 * One or several numbers with a unit each, which are added: us, ms, s, min, h, d, w, month, y and
 * their longer spellings of systemd.time(7); seconds when a number has none.
 */
bool quantity_parse_time(Span text, uint64_t *ret_ns);

/* The parsers read these back as the same number; times are in steps of a microsecond. */
void quantity_format_size(uint64_t bytes, char ret[static QUANTITY_TEXT_BYTES]);
void quantity_format_time(uint64_t ns, char ret[static QUANTITY_TEXT_BYTES]);
