/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/name.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>

#include "check-main.h"

/* Code points, and the ones beside them that everybody sees. */
static const struct {
        uint32_t code;
        bool hidden;
} rows[] = {
        { 0x00, true },    { 0x1f, true },    { 0x20, false },    { 0x7e, false },
        { 0x7f, true },    { 0x9f, true },    { 0xa0, false },    { 0xac, false },
        { 0xad, true },    { 0xae, false },   { 0x34e, false },   { 0x34f, true },
        { 0x350, false },  { 0x61b, false },  { 0x61c, true },    { 0x61d, false },
        { 0x115e, false }, { 0x115f, true },  { 0x1160, true },   { 0x1161, false },
        { 0x17b3, false }, { 0x17b4, true },  { 0x17b5, true },   { 0x17b6, false },
        { 0x180a, false }, { 0x180b, true },  { 0x180e, true },   { 0x180f, true },
        { 0x1810, false }, { 0x200a, false }, { 0x200b, true },   { 0x200e, true },
        { 0x200f, true },  { 0x2010, false }, { 0x2027, false },  { 0x2028, true },
        { 0x202a, true },  { 0x202b, true },  { 0x202c, true },   { 0x202d, true },
        { 0x202e, true },  { 0x202f, false }, { 0x205f, false },  { 0x2060, true },
        { 0x2066, true },  { 0x2067, true },  { 0x2068, true },   { 0x2069, true },
        { 0x206f, true },  { 0x2070, false }, { 0x3163, false },  { 0x3164, true },
        { 0x3165, false }, { 0xef00, false }, { 0xefff, false },  { 0xfdff, false },
        { 0xfe00, true },  { 0xfe0f, true },  { 0xfe10, false },  { 0xfefe, false },
        { 0xfeff, true },  { 0xff00, false }, { 0xff9f, false },  { 0xffa0, true },
        { 0xffa1, false }, { 0xffef, false }, { 0xfff0, true },   { 0xfff8, true },
        { 0xfff9, true },  { 0xfffb, true },  { 0xfffc, false },  { 0x1bc9f, false },
        { 0x1bca0, true }, { 0x1bca3, true }, { 0x1bca4, false }, { 0x1d172, false },
        { 0x1d173, true }, { 0x1d17a, true }, { 0x1d17b, false }, { 0xdffff, false },
        { 0xe0000, true }, { 0xe0fff, true }, { 0xe1000, false },
};

/* UTF-8 of @code; how many bytes that is. */
static size_t encode(uint32_t code, char bytes[static 4]) {
        static const unsigned char first[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
        size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

        for (size_t i = n; i-- > 1; code >>= 6)
                bytes[i] = (char) (0x80 | (code & 0x3f));
        bytes[0] = (char) (first[n] | code);
        return n;
}

START_TEST(they_are_told_by_their_code) {
        char bytes[5] = "";
        size_t n = encode(rows[_i].code, bytes), expected = rows[_i].hidden ? n : 0;
        uint32_t code = 1;

        ck_assert_uint_eq(utf8_code((Span){ bytes, n }), rows[_i].code);
        bytes[n] = 'x';
        ck_assert_uint_eq(hidden_character((Span){ bytes, n + 1 }, &code), expected);
        ck_assert_uint_eq(code, rows[_i].hidden ? rows[_i].code : 1);
        /* Cut off, it is no character. */
        if (n > 1)
                ck_assert_uint_eq(hidden_character((Span){ bytes, n - 1 }, NULL), 0);
}
END_TEST

START_TEST(nothing_has_none) {
        ck_assert_uint_eq(hidden_character((Span){}, NULL), 0);
}
END_TEST

/* The table of first bytes must not pass one by. */
START_TEST(every_first_byte_is_known) {
        unsigned n_hidden = 0;

        for (uint32_t code = 0; code < 0x110000; code++) {
                char bytes[4];
                size_t n = encode(code, bytes);

                if (code < 0xd800 || code > 0xdfff)
                        n_hidden += hidden_character((Span){ bytes, n }, NULL) > 0;
        }
        /* 65 controls, 4174 that Unicode calls default-ignorable, 2 separators, 3 annotations. */
        ck_assert_uint_eq(n_hidden, 65 + 4174 + 2 + 3);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("hidden");
        TCase *table = tcase_create("table");

        tcase_add_loop_test(table, they_are_told_by_their_code, 0, ELEMENTSOF(rows));
        tcase_add_test(table, nothing_has_none);
        tcase_add_test(table, every_first_byte_is_known);
        suite_add_tcase(suite, table);
        return check_main(suite);
}
