/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonString
 *
 * Strings of a JsonInput. Checked while they are read: no control characters, valid UTF-8, known
 * escapes. Without escapes a string is handed out where it stands in the input.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-input.h"

/*
 * The string whose opening quote is at the start of the token. *ret is its decoded content, in the
 * input or in @decoded.
 */
_must_check_ int json_string_read(JsonInput *input, Buffer *decoded, Span *ret);
