/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * JsonString
 *
 * Reads the strings of a JsonInput and checks them: no control characters, valid UTF-8, known
 * escapes. A string without escapes is handed out in place.
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-input.h"

/*
 * Reads the string whose opening quote is at the start of the token. *ret is its decoded content,
 * in the input or in @decoded.
 */
_must_check_ int json_string_read(JsonInput *input, Buffer *decoded, Span *ret);
