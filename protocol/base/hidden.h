/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Hidden characters
 *
 * Characters that nobody sees but that change what is seen: controls, which terminals obey, and the
 * invisible ones of Unicode, which reorder, join or hide the text beside them. Names of threads and
 * cgroups may have them; whatever we print for people or for other programs shows them by an
 * escape: \xNN on a terminal, \uNNNN in JSON, U+EF00 plus each byte in CSV and HTML.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

/*
 * The length of the hidden character at the start of @text; 0 if there is another one, none, or a
 * byte that is not UTF-8. *ret_code is its code point; NULL: not wanted.
 */
size_t hidden_character(Span text, uint32_t *ret_code);
