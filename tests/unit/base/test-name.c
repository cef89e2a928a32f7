/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "base/name.h"

#define SIXTY_FOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
        const char *name;
        const char *complaint; /* part of it; NULL: a good name */
} name_rows[] = {
        { "before", NULL },
        { "A-Z_a.z09", NULL },
        { "20261120T153501.123Z-2", NULL },
        { SIXTY_FOUR, NULL },
        { SIXTY_FOUR "a", "longer" },
        { "", "empty" },
        { ".hidden", "dot" },
        { "-v", "dash" },
        { "a/b", "slash" },
        { "a b", "character" },
        { "caf\xc3\xa9", "character" },
        { "latest", "reserved" },
        { "latest2", NULL },
        { "x.zst", ".zst" },
        { "x.zst.", NULL },
};

START_TEST(snapshot_names_follow_the_grammar) {
        const char *complaint = snapshot_name_complaint(span_of(name_rows[_i].name));

        if (!name_rows[_i].complaint)
                ck_assert_ptr_null(complaint);
        else
                ck_assert_ptr_nonnull(strstr(complaint, name_rows[_i].complaint));
}
END_TEST

static const struct {
        const char *name;
        const char *complaint; /* part of it; NULL: a good name */
} new_name_rows[] = {
        { "a.b", NULL },
        { "20261120T153501.123Z-2", NULL },
        { "a..b", "contains" },
        { "a...b", "contains" },
        { "a..", "contains" },
        { "a.", "ends in a dot" },
        { ".a", "starts with a dot" },
        { "", "empty" },
        { "latest", "reserved" },
};

START_TEST(new_names_cannot_be_taken_for_intervals) {
        const char *complaint = snapshot_name_new_complaint(span_of(new_name_rows[_i].name));

        if (!new_name_rows[_i].complaint)
                ck_assert_ptr_null(complaint);
        else
                ck_assert_ptr_nonnull(strstr(complaint, new_name_rows[_i].complaint));
}
END_TEST

static const struct {
        const char *bytes;
        const char *escaped;
} escape_rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "caf\xc3\xa9", "caf\xc3\xa9" },
        { "\xff", "\xee\xbf\xbf" },
        { "\x80", "\xee\xbe\x80" },
        { "a\xc3", "a\xee\xbf\x83" },               /* a character cut off at the end */
        { "\xc0\x80", "\xee\xbf\x80\xee\xbe\x80" }, /* overlong */
        { "\xed\xa0\x80", "\xee\xbf\xad\xee\xbe\xa0\xee\xbe\x80" }, /* surrogate */
        { "\xee\xbe\x80", "\xee\xbf\xae\xee\xbe\xbe\xee\xbe\x80" }, /* genuine U+EF80 */
        { "\xee\xbb\xbf", "\xee\xbb\xbf" },                         /* U+EEFF is outside */
        { "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
        { "\xf4\x90\x80\x80", "\xee\xbf\xb4\xee\xbe\x90\xee\xbe\x80\xee\xbe\x80" },
};

START_TEST(escape_is_valid_and_undone) {
        Span bytes = span_of(escape_rows[_i].bytes);
        Buffer escaped, undone;

        buffer_init(&escaped, 0);
        buffer_init(&undone, 0);
        ck_assert_int_eq(name_escape(&escaped, bytes), 0);
        ck_assert(span_is(buffer_span(&escaped), escape_rows[_i].escaped));
        ck_assert(utf8_is_valid(buffer_span(&escaped)));
        ck_assert_int_eq(name_unescape(&undone, buffer_span(&escaped)), 0);
        ck_assert(span_equal(buffer_span(&undone), bytes));
        buffer_done(&escaped);
        buffer_done(&undone);
}
END_TEST

START_TEST(every_pair_of_bytes_round_trips) {
        Buffer escaped, undone;

        buffer_init(&escaped, 0);
        buffer_init(&undone, 0);
        for (unsigned pair = 0x0101; pair <= 0xffff; pair++) {
                const char bytes[] = { (char) (pair >> 8), (char) (pair & 0xff) };
                Span span = { bytes, sizeof(bytes) };

                buffer_clear(&escaped);
                buffer_clear(&undone);
                ck_assert_int_eq(name_escape(&escaped, span), 0);
                ck_assert(utf8_is_valid(buffer_span(&escaped)));
                ck_assert_int_eq(name_unescape(&undone, buffer_span(&escaped)), 0);
                ck_assert(span_equal(buffer_span(&undone), span));
        }
        buffer_done(&escaped);
        buffer_done(&undone);
}
END_TEST

static const struct {
        const char *bytes, *escaped;
} control_rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "\x1f", "\xee\xbc\x9f" },
        { "a\x1f"
          "b\n",
          "a\xee\xbc\x9f"
          "b\xee\xbc\x8a" },
        { "\x7f\x1b", "\xee\xbd\xbf\xee\xbc\x9b" },
        { "\xff\x01", "\xee\xbf\xbf\xee\xbc\x81" },
        /* A genuine U+EF1F is not the escape of a joint. */
        { "\xee\xbc\x9f", "\xee\xbf\xae\xee\xbe\xbc\xee\xbe\x9f" },
        { "\xc3\xb6\x1f\xc3\xb6", "\xc3\xb6\xee\xbc\x9f\xc3\xb6" },
};

START_TEST(control_bytes_of_a_key_are_escaped_and_undone) {
        Span bytes = span_of(control_rows[_i].bytes);
        Buffer escaped, undone;

        buffer_init(&escaped, 0);
        buffer_init(&undone, 0);
        ck_assert_int_eq(name_escape_controls(&escaped, bytes), 0);
        ck_assert(span_is(buffer_span(&escaped), control_rows[_i].escaped));
        ck_assert_int_eq(name_unescape_controls(&undone, buffer_span(&escaped)), 0);
        ck_assert(span_equal(buffer_span(&undone), bytes));
        buffer_done(&escaped);
        buffer_done(&undone);
}
END_TEST

START_TEST(unescape_never_makes_ascii) {
        /* U+EF00 would be a NUL byte: no escape of ours, so it stays. */
        Span text = SPAN_LITERAL("\xee\xbc\x80");
        Buffer undone;

        buffer_init(&undone, 0);
        ck_assert_int_eq(name_unescape(&undone, text), 0);
        ck_assert(span_equal(buffer_span(&undone), text));
        buffer_clear(&undone);
        ck_assert_int_eq(name_unescape_controls(&undone, text), 0);
        ck_assert(span_equal(buffer_span(&undone), text));
        buffer_done(&undone);
}
END_TEST

static const struct {
        const char *text;
        bool is_relative;
        uint64_t back;
} relatives[] = {
        { "latest", true, 0 },
        { "latest~0", true, 0 },
        { "latest~1", true, 1 },
        { "latest~10", true, 10 },
        { "latest~18446744073709551615", true, UINT64_MAX },
        { "latest~18446744073709551616", true, UINT64_MAX },
        { "latest~", false, 77 },
        { "latest~01", false, 77 },
        { "latest~00", false, 77 },
        { "latest~-1", false, 77 },
        { "latest~1x", false, 77 },
        { "latest1", false, 77 },
        { "late", false, 77 },
        { "", false, 77 },
};

START_TEST(latest_counts_back) {
        uint64_t back = 77;

        ck_assert(snapshot_name_is_relative(span_of(relatives[_i].text), &back) ==
                  relatives[_i].is_relative);
        ck_assert_uint_eq(back, relatives[_i].back);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("name");
        TCase *snapshot = tcase_create("snapshot");
        TCase *escape = tcase_create("escape");

        tcase_add_loop_test(snapshot, new_names_cannot_be_taken_for_intervals, 0,
                            ELEMENTSOF(new_name_rows));
        tcase_add_loop_test(snapshot, snapshot_names_follow_the_grammar, 0, ELEMENTSOF(name_rows));
        tcase_add_loop_test(snapshot, latest_counts_back, 0, ELEMENTSOF(relatives));
        tcase_add_loop_test(escape, escape_is_valid_and_undone, 0, ELEMENTSOF(escape_rows));
        tcase_add_test(escape, every_pair_of_bytes_round_trips);
        tcase_add_loop_test(escape, control_bytes_of_a_key_are_escaped_and_undone, 0,
                            ELEMENTSOF(control_rows));
        tcase_add_test(escape, unescape_never_makes_ascii);
        suite_add_tcase(suite, snapshot);
        suite_add_tcase(suite, escape);
        return check_main(suite);
}
