/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Glob
 *
 * Patterns for paths of cgroups and for labels; a glob matches the whole text or not at all. Texts
 * are names, which may hold any byte: a character is one of UTF-8, or a byte that belongs to none.
 * Only one that glob_check_path() or glob_check_text() accepted may be matched.
 *
 *     *       any run of bytes, also none
 *     ?       one character
 *     [...]   one character of the set; a-z is a range of code points, a leading ! or ^ negates, ]
 *             first is literal
 *     **      paths only, as a whole component: in front or in the middle zero or more components
 *             that are not empty, at the end one or more bytes of anything
 *
 * In a path the first three never match a '/'; in a text it is a byte like any other. All else,
 * backslash and braces included, stands for itself.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "base/span.h"

#define GLOB_MAX_BYTES 1024

enum {
        GLOB_OK,

        GLOB_E_EMPTY,
        GLOB_E_TOO_LONG,
        GLOB_E_UNCLOSED, /* a '[' without its ']' */
        GLOB_E_STARS,    /* ** is not a whole component */
        _GLOB_E_MAX,
};

_must_check_ int glob_check_path(Span glob);
_must_check_ int glob_check_text(Span glob);
/* The fault, as the end of a sentence: "it is empty". */
const char *glob_fault(int code);

bool glob_matches_path(Span glob, Span path);
bool glob_matches_text(Span glob, Span text);
