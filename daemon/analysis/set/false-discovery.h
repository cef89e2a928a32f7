/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * False discovery
 *
 * Adjusts the p-values of many tests by the method of Benjamini and Hochberg: among the tests whose
 * adjusted p is below alpha, the expected share of false positives is below alpha. Without it,
 * testing the three thousand rows of a host at 0.05 each would yield a hundred and fifty false
 * positives. The method holds for tests that are independent or positively dependent; the rows of
 * one host, where one cause changes several, mostly are.
 */

#include <stddef.h>
#include "base/macro.h"

/*
 * Replaces each p-value, from 0 to 1, by the adjusted one: the minimum of n p / rank over itself
 * and all larger ones, at most 1. 0 or -ENOMEM.
 */
_must_check_ int false_discovery_adjust(double *p, size_t n);
