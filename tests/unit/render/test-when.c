/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/when.h"

#include <check.h>
#include <stdlib.h>
#include <time.h>

#include "check-main.h"

#define SECOND NSEC_PER_SEC
#define DAY (86400 * SECOND)
/* 2026-11-20 15:35:01 UTC, and half a second. */
#define NOW (UINT64_C(1795188901) * SECOND + SECOND / 2)
#define MIDNIGHT (UINT64_C(1795132800) * SECOND)

static const struct {
        const char *text;
        uint64_t realtime_ns;
} times[] = {
        { "now", NOW },
        { "today", MIDNIGHT },
        { "yesterday", MIDNIGHT - DAY },
        { "2026-11-20", MIDNIGHT },
        { "2026-11-20 15:35", MIDNIGHT + (15 * 3600 + 35 * 60) * SECOND },
        { "2026-11-20 15:35:01", NOW - SECOND / 2 },
        { "2026-11-20T15:35:01", NOW - SECOND / 2 },
        { "2028-02-29", UINT64_C(1835395200) * SECOND },
        { "1970-01-01", 0 },
        { "1969-12-31", 0 }, /* and what is earlier is as good as all of time */
        { "0001-01-01", 0 },
        { "-99999999999w", 0 },
        { "-5min", NOW - 300 * SECOND },
        { "-30s", NOW - 30 * SECOND },
        { "-2h", NOW - 7200 * SECOND },
        { "-3d", NOW - 3 * DAY },
        { "-1w", NOW - 7 * DAY },
        { "-1 hour", NOW - 3600 * SECOND },
        { "-0s", NOW },
        { "-90minutes", NOW - 5400 * SECOND },
};

START_TEST(times_of_the_grammar_are_understood) {
        uint64_t realtime_ns = 1;

        ck_assert_msg(when_parse(span_of(times[_i].text), NOW, &realtime_ns), "%s", times[_i].text);
        ck_assert_uint_eq(realtime_ns, times[_i].realtime_ns);
}
END_TEST

static const char *const no_times[] = {
        "",
        "someday",
        "2026",
        "2026-13-01",
        "2026-00-10",
        "2026-02-29",
        "2026-11-31",
        "2026-11-20 24",
        "2026-11-20 24:00",
        "2026-11-20 15:60",
        "2026-11-20 15:35:60",
        "2026-11-20 15:35:01 ",
        "2026-11-20x",
        "26-11-20",
        "2026-1-2",
        "-",
        "-5",
        "-min",
        "-5 parsecs",
        "-5mi n",
        "5min",
        "+5min",
        "--5min",
        "-18446744073709551616s",
        "Today",
        "-2h30min",
};

START_TEST(what_is_no_time_is_refused) {
        uint64_t realtime_ns = 1;

        ck_assert_msg(!when_parse(span_of(no_times[_i]), NOW, &realtime_ns), "%s", no_times[_i]);
        ck_assert_uint_eq(realtime_ns, 1);
}
END_TEST

START_TEST(moments_are_local) {
        char text[WHEN_CHARS];
        uint64_t realtime_ns;

        when_format(NOW, WHEN_FULL, text);
        ck_assert_str_eq(text, "2026-11-20 15:35:01 UTC");

        ck_assert_int_eq(setenv("TZ", "EST5", 1), 0);
        tzset();
        when_format(NOW, WHEN_FULL, text);
        ck_assert_str_eq(text, "2026-11-20 10:35:01 EST");
        when_format(NOW, WHEN_CLOCK, text);
        ck_assert_str_eq(text, "2026-11-20 10:35:01");
        when_format(NOW, WHEN_ZONE, text);
        ck_assert_str_eq(text, "EST");
        ck_assert(when_parse(SPAN_LITERAL("2026-11-20 10:35:01"), NOW, &realtime_ns));
        ck_assert_uint_eq(realtime_ns, NOW - SECOND / 2);

        /* A name without end gives way to the offset. */
        ck_assert_int_eq(setenv("TZ", "LONGLONGLONGLONGLONGLONGLONGLONGLONGLONG-5:30", 1), 0);
        tzset();
        when_format(NOW, WHEN_FULL, text);
        ck_assert_str_eq(text, "2026-11-20 21:05:01 +0530");
        when_format(NOW, WHEN_ZONE, text);
        ck_assert_str_eq(text, "+0530");
        ck_assert_int_eq(setenv("TZ", "UTC", 1), 0);
        tzset();
}
END_TEST

static const struct {
        uint64_t span_ns;
        const char *age, *span;
} spans[] = {
        { 0, "0s", "0.000s" },
        { 999999999, "0s", "0.999s" },
        { 8250 * NSEC_PER_MSEC, "8s", "8.250s" },
        { 60 * SECOND, "1min", "1min 0.000s" },
        { 303250 * NSEC_PER_MSEC, "5min 3s", "5min 3.250s" },
        { 3600 * SECOND, "1h", "1h" },
        { 7503 * SECOND, "2h 5min", "2h 5min 3s" },
        { 3 * DAY + 7503 * SECOND, "3d 2h", "3d 2h 5min" },
        { 400 * DAY, "400d", "400d" },
};

START_TEST(lengths_are_told_in_the_units_that_matter) {
        char text[WHEN_CHARS];

        when_format_span(spans[_i].span_ns, WHEN_ROUGH, text);
        ck_assert_str_eq(text, spans[_i].age);
        when_format_span(spans[_i].span_ns, WHEN_EXACT, text);
        ck_assert_str_eq(text, spans[_i].span);
}
END_TEST

START_TEST(a_span_has_no_bound) {
        char text[WHEN_CHARS];

        when_format_span(UINT64_MAX, WHEN_EXACT, text);
        ck_assert_str_eq(text, "213503d 23h 34min");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("when");
        TCase *parse = tcase_create("parse");
        TCase *format = tcase_create("format");

        (void) setenv("TZ", "UTC", 1);
        tzset();
        tcase_add_loop_test(parse, times_of_the_grammar_are_understood, 0, ELEMENTSOF(times));
        tcase_add_loop_test(parse, what_is_no_time_is_refused, 0, ELEMENTSOF(no_times));
        tcase_add_test(format, moments_are_local);
        tcase_add_test(format, a_span_has_no_bound);
        tcase_add_loop_test(format, lengths_are_told_in_the_units_that_matter, 0,
                            ELEMENTSOF(spans));
        suite_add_tcase(suite, parse);
        suite_add_tcase(suite, format);
        return check_main(suite);
}
