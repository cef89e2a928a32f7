/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pattern
 *
 * The skeleton of a name: the name with the parts replaced that number its instances, so that
 * worker-3 and worker-7 share worker-{N}. Names are bytes; letters, digits and hex are ASCII. A
 * skeleton is a pure function of the name. Whether it becomes a key is decided by the census.
 *
 *     {U}     a UUID of lower-case hex digits, joined by '-' or by '_' throughout
 *     {N}     a run of digits
 *     {H}     a token of at least four lower-case hex digits, a decimal one among them
 *     0x{H}   a token of "0x" and hex digits of either case
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

/* Appends the skeleton of @name. 0, or the failure that sticks to @buffer. */
int pattern_append_skeleton(Buffer *buffer, Span name);
