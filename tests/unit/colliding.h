/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Two names whose XXH3_64bits() without a seed are equal. The bytes in the middle are a part of the
 * secret that XXH3 publishes: they make a factor of its product zero, so that the last eight bytes
 * of a name of 30 do not matter any more. A test that uses the pair begins with
 * ck_assert_colliding(), which would notice a library whose secret differs.
 */

#include <xxhash.h>
#include "base/span.h"

#define COLLIDING_MIDDLE "\xde\xd4\x6d\xe9\x83\x90\x97\xdb"
#define COLLIDING_A SPAN_LITERAL("/system.slice/" COLLIDING_MIDDLE "AAAAAAAA")
#define COLLIDING_B SPAN_LITERAL("/system.slice/" COLLIDING_MIDDLE "BBBBBBBB")

#define ck_assert_colliding()                                            \
        ck_assert_uint_eq(XXH3_64bits(COLLIDING_A.bytes, COLLIDING_A.n), \
                          XXH3_64bits(COLLIDING_B.bytes, COLLIDING_B.n))
