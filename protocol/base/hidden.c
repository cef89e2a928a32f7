/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hidden.h"

#include <stdbool.h>

#include "base/name.h"

/*
 * Control characters, what turns or annotates text, and all that Unicode calls
 * Default_Ignorable_Code_Point, which fonts show as nothing.
 */
static const struct {
        uint32_t first, last;
} ranges[] = {
        { 0x0000, 0x001f },   /* C0 */
        { 0x007f, 0x009f },   /* DEL, C1 */
        { 0x00ad, 0x00ad },   /* soft hyphen */
        { 0x034f, 0x034f },   /* grapheme joiner */
        { 0x061c, 0x061c },   /* Arabic letter mark */
        { 0x115f, 0x1160 },   /* Hangul fillers */
        { 0x17b4, 0x17b5 },   /* Khmer vowels that are not shown */
        { 0x180b, 0x180f },   /* Mongolian variation selectors and vowel separator */
        { 0x200b, 0x200f },   /* zero widths, direction marks */
        { 0x2028, 0x202e },   /* line and paragraph separators, embeddings and overrides */
        { 0x2060, 0x206f },   /* joiners, isolates, shaping */
        { 0x3164, 0x3164 },   /* Hangul filler */
        { 0xfe00, 0xfe0f },   /* variation selectors */
        { 0xfeff, 0xfeff },   /* byte order mark */
        { 0xffa0, 0xffa0 },   /* halfwidth Hangul filler */
        { 0xfff0, 0xfffb },   /* reserved, annotations */
        { 0x1bca0, 0x1bca3 }, /* shorthand controls */
        { 0x1d173, 0x1d17a }, /* musical controls */
        { 0xe0000, 0xe0fff }, /* tags, variation selectors */
};

/* The first bytes of these in UTF-8: nearly all text is passed by without decoding it. */
// clang-format off
static const bool leads[256] = {
        [0x00 ... 0x1f] = true, [0x7f] = true, [0xc2] = true, [0xcd] = true,
        [0xd8] = true, [0xe1 ... 0xe3] = true, [0xef] = true, [0xf0] = true, [0xf3] = true,
};
// clang-format on

size_t hidden_character(Span text, uint32_t *ret_code) {
        uint32_t code;
        size_t n;

        if (text.n == 0 || !leads[(unsigned char) text.bytes[0]])
                return 0;
        n = utf8_character(text);
        if (n == 0)
                return 0;
        code = utf8_code((Span){ text.bytes, n });
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                if (code >= ranges[i].first && code <= ranges[i].last) {
                        if (ret_code)
                                *ret_code = code;
                        return n;
                }
        return 0;
}
