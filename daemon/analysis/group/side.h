/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Side
 *
 * The two inputs of a comparison, and whether one thread can be in both: a thread ends with the
 * boot that it lives in.
 */

#include <limits.h>

typedef enum Side {
        SIDE_BEFORE, /* the only side of show */
        SIDE_AFTER,
} Side;

#define SIDES 2
#define BOTH_SIDES UINT_MAX /* in place of a side: both, and how they differ; it is no index */

typedef enum Boots {
        BOOTS_UNKNOWN, /* one side has no boot id, or there is only one side */
        BOOTS_SAME,
        BOOTS_DIFFERENT,
} Boots;
