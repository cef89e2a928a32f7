/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "view/glob.h"

static const struct {
        const char *glob;
        int code;
} check_rows[] = {
        { "a", GLOB_OK },
        { "/**/a/**/b/**", GLOB_OK },
        { "**", GLOB_OK },
        { "a]", GLOB_OK },
        { "[]]", GLOB_OK },
        { "[!]]", GLOB_OK },
        { "a[**]b", GLOB_OK },
        { "a[/**/]b", GLOB_OK },
        { "\\[a]", GLOB_OK },
        { "", GLOB_E_EMPTY },
        { "[", GLOB_E_UNCLOSED },
        { "[]", GLOB_E_UNCLOSED },
        { "[!]", GLOB_E_UNCLOSED },
        { "[^]", GLOB_E_UNCLOSED },
        { "a/b[c-", GLOB_E_UNCLOSED },
        { "a**", GLOB_E_STARS },
        { "**a", GLOB_E_STARS },
        { "/a/***", GLOB_E_STARS },
        { "/[a]**/b", GLOB_E_STARS },
};

START_TEST(malformed_globs_are_told_apart) {
        int code = glob_check_path(span_of(check_rows[_i].glob));

        ck_assert_int_eq(code, check_rows[_i].code);
        if (code != GLOB_OK)
                ck_assert_uint_gt(strlen(glob_fault(code)), 5);
        /* In a text, two stars are a star. */
        ck_assert_int_eq(glob_check_text(span_of(check_rows[_i].glob)),
                         code == GLOB_E_STARS ? GLOB_OK : code);
}
END_TEST

START_TEST(globs_are_bounded) {
        static char glob[GLOB_MAX_BYTES + 1];

        memset(glob, 'a', sizeof(glob));
        ck_assert_int_eq(glob_check_path((Span){ glob, GLOB_MAX_BYTES }), GLOB_OK);
        ck_assert(
                glob_matches_path((Span){ glob, GLOB_MAX_BYTES }, (Span){ glob, GLOB_MAX_BYTES }));
        ck_assert_int_eq(glob_check_path((Span){ glob, GLOB_MAX_BYTES + 1 }), GLOB_E_TOO_LONG);
}
END_TEST

static const struct {
        const char *glob;
        const char *text;
        bool path, flat; /* whether it matches one, and as a text */
} match_rows[] = {
        { "*", "", true, true },
        { "*", NULL, true, true },
        { "*", "ab", true, true },
        { "*", "a/b", false, true },
        { "a*b*c", "axbxbc", true, true },
        { "a*b*c", "axbxb", false, false },
        { "?", "/", false, true },
        { "[!a]", "/", false, true },
        { "a[/]b", "a/b", false, true },
        { "[a-cx-]", "b", true, true },
        { "[a-cx-]", "-", true, true },
        { "[a-cx-]", "w", false, false },
        { "[c-a]", "b", false, false }, /* nothing is in that range */
        { "[]a]", "]", true, true },
        { "[^]a]", "]", false, false },
        { "[\xe0-\xff]", "\xf0", true, true },
        /* A character of UTF-8 is one, however many bytes it has; a byte that is in none is one. */
        { "?", "\xc3\xb6", true, true },
        { "??", "\xc3\xb6", false, false },
        { "gr?n-?", "gr\xc3\xbcn-\xe2\x82\xac", true, true },
        { "?", "\xf0\x9f\x98\x80", true, true },
        { "??", "\xc3", false, false },
        { "?", "\xc3", true, true },
        { "??", "\xc3\xc3", true, true },
        { "???", "\xe2\x82/", false, true },    /* cut off: two bytes */
        { "??", "\xed\xa0\x80", false, false }, /* a surrogate is no character: three bytes */
        { "???", "\xed\xa0\x80", true, true },
        { "*?", "\xc3\xb6", true, true },
        { "*\xb6", "\xc3\xb6", false, false }, /* half a character */
        { "\xc3*", "\xc3\xb6", false, false },
        { "[\xc3\xa0-\xc3\xbc]", "\xc3\xb6", true, true },
        { "[!a]", "\xc3\xb6", true, true },
        { "[\xc3\xb6]", "\xc3", false, false },
        { "\\*", "\\x", true, true },
        { "{a,b}", "a", false, false },
        { "A", "a", false, false },
        { "**/x", "x", true, false },
        { "**/x", "a/x", true, true },
        { "**/x", "/x", false, true },
        { "/**/x", "/x", true, false },
        { "/**", "/", false, true },
        { "/**", "//", true, true },
        { "/**/", "/", true, false },
        { "/**/", "/a/b/", true, true },
        { "/**/", "/a/b", false, false },
        { "/a/**/*", "/a/", true, false },
        /* What the first ** takes decides what the second may. */
        { "/**/*/**/x", "/a//x", true, false },
        { "/**/a/*/b/**/c", "/a/a/b/b/c", true, false },
        { "/**/b/**/b", "/b", false, false },
};

START_TEST(a_glob_matches_all_or_nothing) {
        Span glob = span_of(match_rows[_i].glob), text = span_of(match_rows[_i].text);

        ck_assert_int_eq(glob_check_path(glob), GLOB_OK);
        ck_assert(glob_matches_path(glob, text) == match_rows[_i].path);
        ck_assert(glob_matches_text(glob, text) == match_rows[_i].flat);
}
END_TEST

START_TEST(stars_do_not_explode) {
        static char glob[GLOB_MAX_BYTES], path[4095];

        for (size_t i = 0; i < sizeof(glob); i++)
                glob[i] = "/**/a*a*"[i % 8];
        memset(path, 'a', sizeof(path));
        for (size_t i = 0; i < sizeof(path); i += 3)
                path[i] = '/';
        ck_assert_int_eq(glob_check_path((Span){ glob, sizeof(glob) }), GLOB_OK);
        ck_assert(glob_matches_path((Span){ glob, sizeof(glob) }, (Span){ path, sizeof(path) }));
        path[sizeof(path) - 1] = 'b';
        ck_assert(!glob_matches_path((Span){ glob, sizeof(glob) }, (Span){ path, sizeof(path) }));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("glob");
        TCase *globs = tcase_create("globs");

        tcase_add_loop_test(globs, malformed_globs_are_told_apart, 0, ELEMENTSOF(check_rows));
        tcase_add_test(globs, globs_are_bounded);
        tcase_add_loop_test(globs, a_glob_matches_all_or_nothing, 0, ELEMENTSOF(match_rows));
        tcase_add_test(globs, stars_do_not_explode);
        suite_add_tcase(suite, globs);
        return check_main(suite);
}
