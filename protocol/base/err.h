/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Err
 *
 * Return values: 0 is done; negative is -errno, unexpected, passed up unchanged; positive is one of
 * the called module's own documented outcomes, handled or translated by the direct caller.
 */

#include <errno.h>

/*
 * Ends every list of domain ifs: a code that nobody handled becomes loud instead of being read as
 * somebody else's code.
 */
static inline int err_fold(int r) {
        return r > 0 ? -ENOTRECOVERABLE : r;
}
