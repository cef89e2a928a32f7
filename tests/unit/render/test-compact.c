/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/compact.h"

#include <check.h>
#include <math.h>

#include "base/macro.h"
#include "check-main.h"

typedef int Append(Buffer *cell, double value);

static const struct {
        Append *append;
        double value;
        const char *text;
} rows[] = {
        { compact_append_cpus, 0, "0" },
        { compact_append_cpus, 0.0001, "0.00" },
        { compact_append_cpus, 0.84, "0.84" },
        { compact_append_cpus, 12.5, "12.50" },
        { compact_append_cpus, 99.94, "99.94" },
        { compact_append_cpus, 128.04, "128.0" },
        { compact_append_cpus, -1, "-" },
        { compact_append_cpus, NAN, "-" },
        { compact_append_count, 0, "0" },
        { compact_append_count, 0.04, "0.0" },
        { compact_append_count, 7, "7" },
        { compact_append_count, 3.42, "3.4" },
        { compact_append_count, 9.96, "10" },
        { compact_append_count, 999, "999" },
        { compact_append_count, 999.6, "1.0K" },
        { compact_append_count, 1234, "1.2K" },
        { compact_append_count, 34567, "35K" },
        { compact_append_count, 999600, "1.0M" },
        { compact_append_count, 18446744073709551615.0, "18446744T" },
        { compact_append_count, INFINITY, "-" },
        { compact_append_bytes, 0, "0" },
        { compact_append_bytes, 0.2, "0B" },
        { compact_append_bytes, 512, "512B" },
        { compact_append_bytes, 1024, "1.0KiB" },
        { compact_append_bytes, 7.0 * 1024 * 1024, "7.0MiB" },
        { compact_append_bytes, 822.0 * 1024 * 1024, "822MiB" },
        { compact_append_bytes, 1023.9 * 1024 * 1024, "1.0GiB" },
        { compact_append_bytes, -5, "-" },
        { compact_append_span, 0, "0" },
        { compact_append_span, 850, "850ns" },
        { compact_append_span, 1200, "1.2\u00b5s" },
        { compact_append_span, 21e6, "21ms" },
        { compact_append_span, 999.9e6, "1.00s" },
        { compact_append_span, 4.2e9, "4.20s" },
        { compact_append_span, 42.12e9, "42.1s" },
        { compact_append_span, 59.96e9, "1min" },
        { compact_append_span, 303e9, "5min 3s" },
        { compact_append_span, 7500e9, "2h 5min" },
        { compact_append_span, 1e30, "106751d 23h" },
        { compact_append_percent, 0, "0 %" },
        { compact_append_percent, 0.2, "<1 %" },
        { compact_append_percent, 0.5, "<1 %" },
        { compact_append_percent, 0.51, "1 %" },
        { compact_append_percent, 41.4, "41 %" },
        { compact_append_percent, 99.6, "100 %" },
};

START_TEST(a_number_is_as_short_as_it_may_be) {
        _cleanup_(buffer_done) Buffer cell = {};
        const char *text;

        ck_assert_int_eq(rows[_i].append(&cell, rows[_i].value), 0);
        ck_assert_int_eq(buffer_terminate(&cell, &text), 0);
        ck_assert_str_eq(text, rows[_i].text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("compact");
        TCase *texts = tcase_create("texts");

        tcase_add_loop_test(texts, a_number_is_as_short_as_it_may_be, 0, ELEMENTSOF(rows));
        suite_add_tcase(suite, texts);
        return check_main(suite);
}
