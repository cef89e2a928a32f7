/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Plain
 *
 * What may go to a terminal: valid UTF-8 without a control character, C1 included.
 */

#include "base/name.h"
#include "fuzz.h"

static inline bool is_plain_character(Span character) {
        const unsigned char *b = (const unsigned char *) character.bytes;

        if (character.n == 1)
                return b[0] >= ' ' && b[0] != 0x7f;
        return !(character.n == 2 && b[0] == 0xc2 && b[1] < 0xa0);
}

/* @extra: a character that passes as well, or NUL. */
static inline void expect_plain(Span text, char extra, const char *what) {
        while (text.n > 0) {
                size_t n = utf8_character(text);

                fuzz_expect(n > 0, "%s is UTF-8", what);
                fuzz_expect((extra != '\0' && text.bytes[0] == extra) ||
                                    is_plain_character((Span){ text.bytes, n }),
                            "%s has no control character: byte 0x%02x", what,
                            (unsigned char) text.bytes[0]);
                text = (Span){ text.bytes + n, text.n - n };
        }
}

/* A refusal: one line that says something. */
static inline void expect_complaint(const char *complaint) {
        fuzz_expect(complaint[0] != '\0', "a refusal says what is wrong");
        expect_plain(span_of(complaint), '\0', "a complaint");
}
