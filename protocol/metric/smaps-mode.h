/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SmapsMode
 *
 * Of which processes a capture reads smaps_rollup. The kernel walks the page tables of the process
 * for it, under its mmap lock: in the meantime the process can neither map nor unmap memory. That
 * takes about 11 ms for each GiB of small pages, so it is not done to large ones by default. Of a
 * tiny one it takes longer than all else that a capture reads, so by default it is not done to the
 * tiniest of many either.
 */

#include "base/span.h"

// clang-format off
#define SMAPS_MODES(M)                                                                             \
        M(NONE,  "none")  /* of none */                                                            \
        M(SMALL, "small") /* of the largest of those whose memory is within a bound */             \
        M(ALL,   "all")
// clang-format on

#define SMAPS_MODE_ID(id, name) SMAPS_MODE_##id,
typedef enum SmapsMode { SMAPS_MODES(SMAPS_MODE_ID) _SMAPS_MODE_MAX } SmapsMode;

const char *smaps_mode_name(SmapsMode mode);
/* _SMAPS_MODE_MAX when there is none of that name. */
SmapsMode smaps_mode_find(Span name);
