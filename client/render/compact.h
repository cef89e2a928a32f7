/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Compact
 *
 * Numbers in as few characters as a reader needs to rank them, for tables that have to fit a first
 * screen: two or three digits and a unit. 0 is a bare "0", so that it differs from what only rounds
 * to it. A number that is not finite, or negative, is "-".
 */

#include <stdint.h>
#include "base/buffer.h"

/* All append to @cell and return 0 or its failure, which sticks. */

/* "0.84", "12.50", "128.0": seconds per second. */
int compact_append_cpus(Buffer *cell, double cpus);
/* "0.08", "6.6", "128": the same of threads that wait, where few figures are enough. */
int compact_append_threads(Buffer *cell, double threads);
/* "7", "3.4", "1.2K", "34K", "5.6M": a count, or a rate of one. */
int compact_append_count(Buffer *cell, double count);
/* "512B", "7.0KiB", "822MiB". */
int compact_append_bytes(Buffer *cell, double bytes);
/* "850ns", "1.2ms", "4.20s", "42.1s"; from a minute on the two largest units: "5min 3s". */
int compact_append_span(Buffer *cell, double ns);
/* "0.043", "<0.0001": a probability, with two significant digits. */
int compact_append_p(Buffer *cell, double p);
/* "41 %"; a share that is not 0 and rounds to it is "<1 %". */
int compact_append_percent(Buffer *cell, double percent);
