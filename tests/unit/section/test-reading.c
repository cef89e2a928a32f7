/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/count-map.h"

#include "check-main.h"

#define ABSENT ((Reading){})
#define MAX ((Reading){ .state = READING_MAX })
#define MINUS(number) ((Reading){ READING_NUMBER, true, (number) })

static const struct {
        ReadingMerge rule;
        Reading a, b, merged;
} merge_rows[] = {
        { READING_MERGE_SUM, READING(2), READING(3), READING(5) },
        { READING_MERGE_SUM, READING(UINT64_MAX), READING(1), READING(UINT64_MAX) },
        { READING_MERGE_SUM, READING(2), ABSENT, READING(2) },
        { READING_MERGE_SUM, ABSENT, ABSENT, ABSENT },
        { READING_MERGE_PEAK, READING(2), READING(3), READING(3) },
        { READING_MERGE_PEAK, READING(0), ABSENT, READING(0) },
        { READING_MERGE_PEAK, ABSENT, ABSENT, ABSENT },
        { READING_MERGE_LARGEST, READING(2), READING(3), READING(3) },
        { READING_MERGE_LARGEST, MINUS(20), MINUS(3), MINUS(3) },
        { READING_MERGE_LARGEST, MINUS(20), READING(0), READING(0) },
        { READING_MERGE_LARGEST, READING(2), MAX, MAX },
        { READING_MERGE_LARGEST, ABSENT, MAX, MAX },
        { READING_MERGE_LARGEST, READING(2), ABSENT, ABSENT },
        { READING_MERGE_LARGEST, MAX, MAX, MAX },
        { READING_MERGE_SMALLEST, READING(2), READING(3), READING(2) },
        { READING_MERGE_SMALLEST, READING(2), MAX, READING(2) },
        { READING_MERGE_SMALLEST, MAX, MAX, MAX },
        { READING_MERGE_SMALLEST, READING(2), ABSENT, ABSENT },
        { READING_MERGE_SMALLEST, ABSENT, MAX, ABSENT },
};

START_TEST(readings_merge_alike_in_either_order) {
        Reading a = merge_rows[_i].a, b = merge_rows[_i].b;

        ck_assert(reading_equal(reading_merge(merge_rows[_i].rule, a, b), merge_rows[_i].merged));
        ck_assert(reading_equal(reading_merge(merge_rows[_i].rule, b, a), merge_rows[_i].merged));
}
END_TEST

static const struct {
        Reading before, after;
        const char *text; /* of two sides */
} delta_rows[] = {
        { READING(1), READING(3), "{\"before\":1,\"after\":3,\"delta\":2}" },
        { READING(3), READING(1), "{\"before\":3,\"after\":1,\"delta\":-2}" },
        { READING(0), READING(0), "{\"before\":0,\"after\":0,\"delta\":0}" },
        { READING(UINT64_MAX), READING(0),
          "{\"before\":18446744073709551615,\"after\":0,\"delta\":-18446744073709551615}" },
        { MINUS(5), READING(3), "{\"before\":-5,\"after\":3,\"delta\":8}" },
        { READING(3), MINUS(5), "{\"before\":3,\"after\":-5,\"delta\":-8}" },
        { MINUS(5), MINUS(3), "{\"before\":-5,\"after\":-3,\"delta\":2}" },
        { MINUS(3), MINUS(5), "{\"before\":-3,\"after\":-5,\"delta\":-2}" },
        { ABSENT, READING(3), "{\"before\":null,\"after\":3,\"delta\":null}" },
        { MAX, READING(3), "{\"before\":\"max\",\"after\":3,\"delta\":null}" },
        { MAX, MAX, "{\"before\":\"max\",\"after\":\"max\",\"delta\":null}" },
};

START_TEST(a_difference_exists_between_numbers_only) {
        const Reading sides[] = { delta_rows[_i].before, delta_rows[_i].after };
        JsonWriter writer;
        const char *text;
        Buffer buffer;

        buffer_init(&buffer, 0);
        json_writer_init(&writer, &buffer);
        reading_write_change(&writer, sides, reading_delta(sides[0], sides[1]), reading_write);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&buffer, &text), 0);
        ck_assert_str_eq(text, delta_rows[_i].text);
        buffer_done(&buffer);
}
END_TEST

static const struct {
        const char *json;
        ReadingKind kind;
        bool good;
        Reading reading;
} scan_rows[] = {
        { "7", READING_KIND_COUNT, true, READING(7) },
        { "null", READING_KIND_COUNT, true, ABSENT },
        { "-7", READING_KIND_COUNT, false, ABSENT },
        { "\"max\"", READING_KIND_COUNT, false, ABSENT },
        { "true", READING_KIND_COUNT, false, ABSENT },
        { "1.5", READING_KIND_COUNT, false, ABSENT },
        { "{}", READING_KIND_COUNT, false, ABSENT },
        { "-7", READING_KIND_SIGNED, true, MINUS(7) },
        { "\"max\"", READING_KIND_SIGNED, false, ABSENT },
        { "\"max\"", READING_KIND_LIMIT, true, MAX },
        { "\"min\"", READING_KIND_LIMIT, false, ABSENT },
        { "-1", READING_KIND_LIMIT, false, ABSENT },
        { "18446744073709551615", READING_KIND_LIMIT, true, READING(UINT64_MAX) },
        { "18446744073709551616", READING_KIND_LIMIT, false, ABSENT },
};

START_TEST(readings_are_scanned_strictly) {
        const JsonLimits limits = { .max_depth = 2, .max_token_bytes = 64 };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        Reading reading = ABSENT;
        int r;

        ck_assert_int_eq(json_scanner_new_text(span_of(scan_rows[_i].json), &limits, &scanner), 0);
        r = reading_scan(&reading, scanner, scan_rows[_i].kind);
        ck_assert_int_eq(r, scan_rows[_i].good ? 0 : JSON_E_MALFORMED);
        ck_assert(reading_equal(reading, scan_rows[_i].reading));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("reading");
        TCase *readings = tcase_create("readings");

        tcase_add_loop_test(readings, readings_merge_alike_in_either_order, 0,
                            ELEMENTSOF(merge_rows));
        tcase_add_loop_test(readings, a_difference_exists_between_numbers_only, 0,
                            ELEMENTSOF(delta_rows));
        tcase_add_loop_test(readings, readings_are_scanned_strictly, 0, ELEMENTSOF(scan_rows));
        suite_add_tcase(suite, readings);
        return check_main(suite);
}
