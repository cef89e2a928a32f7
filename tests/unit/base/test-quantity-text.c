/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "base/macro.h"
#include "base/quantity.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

static const struct {
        const char *text;
        bool is_valid;
        uint64_t bytes;
        const char *back;
} size_rows[] = {
        { "0", true, 0, "0" },
        { "1", true, 1, "1" },
        { "1023", true, 1023, "1023" },
        { "1024", true, 1024, "1K" },
        { "1B", true, 1, "1" },
        { "1K", true, 1024, "1K" },
        { "1536K", true, 1536 * 1024, "1536K" },
        { "1.5G", true, UINT64_C(1610612736), "1536M" },
        { "0.000000001T", true, 1099, "1099" },
        { "512M", true, UINT64_C(512) << 20, "512M" },
        { "4G", true, UINT64_C(4) << 30, "4G" },
        { "16777215T", true, UINT64_C(16777215) << 40, "16777215T" },
        { "infinity", true, QUANTITY_INFINITY, "infinity" },
        { "16777216T", false, 0, NULL }, /* 2^64 */
        { "18446744073709551616", false, 0, NULL },
        { "", false, 0, NULL },
        { "K", false, 0, NULL },
        { ".5G", false, 0, NULL },
        { "1.G", false, 0, NULL },
        { "1.0000000000G", false, 0, NULL }, /* ten digits */
        { "1KB", false, 0, NULL },
        { "1k", false, 0, NULL },
        { "1 K", false, 0, NULL },
        { "1K1", false, 0, NULL },
        { "-1", false, 0, NULL },
        { "+1", false, 0, NULL },
        { "0x10", false, 0, NULL },
        { "1e3", false, 0, NULL },
        { "lots", false, 0, NULL },
};

START_TEST(a_size_is_bytes_with_a_unit) {
        char text[QUANTITY_TEXT_BYTES];
        uint64_t value = 77;

        ck_assert_int_eq(quantity_parse_size(span_of(size_rows[_i].text), &value),
                         size_rows[_i].is_valid);
        ck_assert_uint_eq(value, size_rows[_i].is_valid ? size_rows[_i].bytes : 77);
        if (!size_rows[_i].is_valid)
                return;
        quantity_format_size(value, text);
        ck_assert_str_eq(text, size_rows[_i].back);
}
END_TEST

static const struct {
        const char *text;
        bool is_valid;
        uint64_t ns;
        const char *back;
} time_rows[] = {
        { "0", true, 0, "0" },
        { "90", true, 90 * NSEC_PER_SEC, "1min 30s" },
        { "90s", true, 90 * NSEC_PER_SEC, "1min 30s" },
        { "1us", true, NSEC_PER_USEC, "1us" },
        { "500ms", true, 500 * NSEC_PER_MSEC, "500ms" },
        { "1.5s", true, 1500 * NSEC_PER_MSEC, "1s 500ms" },
        { "2min", true, 120 * NSEC_PER_SEC, "2min" },
        { "2m", true, 120 * NSEC_PER_SEC, "2min" },
        { "1h 30min", true, 5400 * NSEC_PER_SEC, "1h 30min" },
        { "1h30min", true, 5400 * NSEC_PER_SEC, "1h 30min" },
        { "1hour 1second", true, 3601 * NSEC_PER_SEC, "1h 1s" },
        { "2d", true, 48 * HOUR_NS, "2d" },
        { "1w", true, 7 * 24 * HOUR_NS, "7d" },
        { "2weeks 1day", true, 15 * 24 * HOUR_NS, "15d" },
        { "1month", true, UINT64_C(2629800) * NSEC_PER_SEC, "30d 10h 30min" },
        { "1M", true, UINT64_C(2629800) * NSEC_PER_SEC, "30d 10h 30min" },
        { "1y", true, UINT64_C(31557600) * NSEC_PER_SEC, "365d 6h" },
        { "infinity", true, QUANTITY_INFINITY, "infinity" },
        { "585y", false, 0, NULL }, /* past 2^64 ns */
        { "584y 365d", false, 0, NULL },
        { "", false, 0, NULL },
        { "s", false, 0, NULL },
        { "1 s", false, 0, NULL },
        { "1K", false, 0, NULL },
        { "1h,30min", false, 0, NULL },
        { "-1s", false, 0, NULL },
        { "forever", false, 0, NULL },
};

START_TEST(a_time_is_a_sum_of_numbers_with_units) {
        char text[QUANTITY_TEXT_BYTES];
        uint64_t value = 77;

        ck_assert_int_eq(quantity_parse_time(span_of(time_rows[_i].text), &value),
                         time_rows[_i].is_valid);
        ck_assert_uint_eq(value, time_rows[_i].is_valid ? time_rows[_i].ns : 77);
        if (!time_rows[_i].is_valid)
                return;
        quantity_format_time(value, text);
        ck_assert_str_eq(text, time_rows[_i].back);
}
END_TEST

static const uint64_t numbers[] = {
        0,
        1000,
        1001000,
        UINT64_C(59999999000),
        86400 * NSEC_PER_SEC,
        UINT64_C(18446744073709551000),
        1024,
        UINT64_C(1) << 40,
};

START_TEST(what_is_written_is_read_back) {
        char text[QUANTITY_TEXT_BYTES];
        uint64_t value = 77;

        quantity_format_time(numbers[_i], text);
        ck_assert(quantity_parse_time(span_of(text), &value));
        ck_assert_uint_eq(value, numbers[_i] / NSEC_PER_USEC * NSEC_PER_USEC);
        quantity_format_size(numbers[_i], text);
        ck_assert(quantity_parse_size(span_of(text), &value));
        ck_assert_uint_eq(value, numbers[_i]);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("quantity");
        TCase *quantity = tcase_create("quantity");

        tcase_add_loop_test(quantity, a_size_is_bytes_with_a_unit, 0, ELEMENTSOF(size_rows));
        tcase_add_loop_test(quantity, a_time_is_a_sum_of_numbers_with_units, 0,
                            ELEMENTSOF(time_rows));
        tcase_add_loop_test(quantity, what_is_written_is_read_back, 0, ELEMENTSOF(numbers));
        suite_add_tcase(suite, quantity);
        return check_main(suite);
}
