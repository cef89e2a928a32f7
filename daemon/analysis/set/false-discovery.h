/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * False discovery
 *
 * Adjusts the p-values of many tests by Benjamini and Hochberg: of the tests whose adjusted p is
 * below alpha, the expected share of false ones is below alpha. Testing a host's three thousand
 * rows at 0.05 each would promise a hundred and fifty. It holds for tests that are independent or
 * positively dependent, which the rows of one host, one cause moving several, mostly are.
 */

#include <stddef.h>
#include "base/macro.h"

/*
 * Replaces each p-value, from 0 to 1, by the adjusted one: the least of n p / rank over itself and
 * all that are larger, at most 1. 0 or -ENOMEM.
 */
_must_check_ int false_discovery_adjust(double *p, size_t n);
