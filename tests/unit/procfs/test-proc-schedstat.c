/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-task.h"
#include "text/fixture.h"

static const struct {
        const char *path;
        uint64_t run_time_ns, wait_time_ns, timeslices;
} fixture_rows[] = {
        { "proc/6.1-schedstats/1/task/1/schedstat", 2760523917, 262417701, 773 },
        { "proc/6.12-schedstats/245/task/245/schedstat", 978851932, 3790741774, 74 },
        { "proc/7.2-scx/1/task/1/schedstat", 4033595042, 857550836, 911 },
};

START_TEST(kernels_lines_are_read_exactly) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcSchedstat schedstat;

        ck_assert_int_eq(proc_schedstat_parse(text, &schedstat), 0);
        ck_assert(schedstat.has_run_time_ns && schedstat.has_wait_time_ns &&
                  schedstat.has_timeslices);
        ck_assert_uint_eq(schedstat.run_time_ns, fixture_rows[_i].run_time_ns);
        ck_assert_uint_eq(schedstat.wait_time_ns, fixture_rows[_i].wait_time_ns);
        ck_assert_uint_eq(schedstat.timeslices, fixture_rows[_i].timeslices);
        fixture_free(text);
}
END_TEST

START_TEST(a_cut_line_is_no_line) {
        Span text = fixture_read(fixture_rows[_i].path);
        ProcSchedstat schedstat;

        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                ck_assert_int_eq(proc_schedstat_parse(cut, &schedstat), TEXT_E_MALFORMED);
                ck_assert(!schedstat.has_run_time_ns && !schedstat.has_wait_time_ns &&
                          !schedstat.has_timeslices);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

static const struct {
        const char *text;
        int r;
        bool run, wait, slices;
} rows[] = {
        { "1 2 3\n", 0, true, true, true },
        { "0 0 0\n", 0, true, true, true },
        { "1 2 3 4\n", 0, true, true, true },
        { "1 2\n", TEXT_E_MALFORMED, true, true, false },
        { "x 2 3\n", TEXT_E_MALFORMED, false, true, true },
        { "1 -2 3\n", TEXT_E_MALFORMED, true, false, true },
        { "1 2 18446744073709551616\n", TEXT_E_MALFORMED, true, true, false },
        { "\n", TEXT_E_MALFORMED, false, false, false },
        { "", TEXT_E_MALFORMED, false, false, false },
};

START_TEST(each_number_fails_alone) {
        ProcSchedstat schedstat;

        ck_assert_int_eq(proc_schedstat_parse(span_of(rows[_i].text), &schedstat), rows[_i].r);
        ck_assert_int_eq(schedstat.has_run_time_ns, rows[_i].run);
        ck_assert_int_eq(schedstat.has_wait_time_ns, rows[_i].wait);
        ck_assert_int_eq(schedstat.has_timeslices, rows[_i].slices);
}
END_TEST

static const struct {
        const char *text;
        int r;
        uint64_t resident;
} statm_rows[] = {
        { "5474 3257 2247 1 0 979 0\n", 0, 3257 },
        { "0 0 0 0 0 0 0\n", 0, 0 },
        { "1 18446744073709551615 2\n", 0, UINT64_MAX },
        { "1 2", TEXT_E_MALFORMED, 0 }, /* a line that was cut */
        { "1\n", TEXT_E_MALFORMED, 0 },
        { "1 -2 3\n", TEXT_E_MALFORMED, 0 },
        { "x 2 3\n", TEXT_E_MALFORMED, 0 },
        { "", TEXT_E_MALFORMED, 0 },
};

START_TEST(statm_tells_resident_pages) {
        uint64_t resident = 0;

        ck_assert_int_eq(proc_statm_parse(span_of(statm_rows[_i].text), &resident),
                         statm_rows[_i].r);
        ck_assert_uint_eq(resident, statm_rows[_i].resident);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-schedstat");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, kernels_lines_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_line_is_no_line, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, each_number_fails_alone, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(parse, statm_tells_resident_pages, 0, ELEMENTSOF(statm_rows));
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
