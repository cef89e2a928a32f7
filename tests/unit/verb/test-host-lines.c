/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/host-lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "check-main.h"

#define HOST "\"host\":{\"cpus\":2,\"cpuUsedNs\":16200000000}"
#define COVERAGE(attributed) \
        "\"coverage\":{\"cpuUsedNs\":16200000000,\"attributedNs\":" attributed "}"
#define UNKNOWN "\"coverage\":{\"cpuUsedNs\":16200000000,\"attributedNs\":null,\"reason\":\"why\"}"

/* Intervals of ten seconds. */
static const struct {
        const char *sides[2], *text;
} rows[] = {
        { { "{}" }, "" },
        { { "{" HOST "}" }, "host      1.62 of 2 CPUs\n" },
        { { "{" HOST "," COVERAGE("16200000000") "}" },
          "host      1.62 of 2 CPUs; ctprof saw 100 % of it\n" },
        /* What threads did is more than ticks have of it: within their grain, and beyond. */
        { { "{" HOST "," COVERAGE("16250000000,\"boundNs\":60000000") "}" },
          "host      1.62 of 2 CPUs; ctprof saw 100 % of it\n" },
        { { "{" HOST "," COVERAGE("18600000000,\"cpuBelievedNs\":18600000000") "}" },
          "host      ~1.86 of 2 CPUs; ctprof saw 100 % of it\n" },
        { { "{" HOST "," COVERAGE("25110000000,\"cpuBelievedNs\":20000000000") "}" },
          "host      ~2.00 of 2 CPUs; ctprof saw 100 % of it\n" },
        { { "{" HOST "," COVERAGE("8100000000") "}",
            "{" HOST "," COVERAGE("18600000000,\"cpuBelievedNs\":18600000000") "}" },
          "host      1.62 \u2192 ~1.86 of 2 CPUs; ctprof saw 50 % \u2192 100 % of it\n" },
        { { "{" HOST "," COVERAGE("16200000000") "}",
            "{\"host\":{\"cpus\":4,\"cpuUsedNs\":1}," COVERAGE(
                    "18600000000,\"cpuBelievedNs\":18600000000") "}" },
          "host      1.62 of 2 \u2192 ~1.86 of 4 CPUs; ctprof saw 100 % of it\n" },
        { { "{" HOST "," COVERAGE("16200000000,\"ownNs\":310000000") "}" },
          "host      1.62 of 2 CPUs; ctprof saw 100 % of it (0.03 its own)\n" },
        { { "{" HOST "," COVERAGE("16200000000,\"ownNs\":49000000") "}" },
          "host      1.62 of 2 CPUs; ctprof saw 100 % of it\n" },
        { { "{" HOST "," COVERAGE("8100000000,\"ownNs\":310000000") "}",
            "{" HOST "," COVERAGE("16200000000,\"ownNs\":1000000") "}" },
          "host      1.62 of 2 CPUs; ctprof saw 50 % \u2192 100 % of it (0.03 \u2192 0.00 its "
          "own)\n" },
        { { "{" HOST "," UNKNOWN "}" },
          "host      1.62 of 2 CPUs; whose work it was is not known: no thread has a run time\n" },
        { { "{" HOST "," COVERAGE("8100000000") "}", "{" HOST "," UNKNOWN "}" },
          "host      1.62 of 2 CPUs; whose work it was is not known: no thread has a run time\n" },
        { { "{" HOST "," COVERAGE("8100000000") "}", "{" HOST "," COVERAGE("16200000000") "}" },
          "host      1.62 of 2 CPUs; ctprof saw 50 % \u2192 100 % of it\n" },
};

START_TEST(coverage_is_told_as_far_as_it_is_known) {
        json_object *json[2] = {};
        Terminal pipe = {};
        HostSide sides[2];
        char *text = NULL;
        size_t n = 0, n_sides = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = { .out = out, .terminal = &pipe, .label_columns = 8 };

        for (; n_sides < 2 && rows[_i].sides[n_sides]; n_sides++) {
                json[n_sides] = json_tokener_parse(rows[_i].sides[n_sides]);
                sides[n_sides] = (HostSide){
                        .host = json_object_object_get(json[n_sides], "host"),
                        .coverage = json_object_object_get(json[n_sides], "coverage"),
                        .elapsed_ns = 10 * NSEC_PER_SEC,
                };
        }
        ck_assert_int_eq(host_lines_print(&lines, sides, n_sides), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, rows[_i].text);
        free(text);
        for (size_t i = 0; i < n_sides; i++)
                (void) json_object_put(json[i]);
}
END_TEST

#define HALF COVERAGE("8100000000,\"notAttributedNs\":8100000000")
/* Waiting has something to say; pressure, which is not known, has not. */
#define WAITING "\"host\":{\"cpus\":2,\"cpuUsedNs\":16200000000,\"waitingNs\":5000000000}"
#define MISSED "; ctprof saw 50 % of it: 0.81 went to threads that"

static const struct {
        size_t columns; /* of the terminal; 10 of them are the label's */
        const char *side, *text;
} cut_rows[] = {
        { 120, "{" WAITING "," HALF "}",
          "host      1.62 of 2 CPUs, 0.50 waiting" MISSED " ended, and interrupts\n" },
        { 100, "{" WAITING "," HALF "}",
          "host      1.62 of 2 CPUs, \u2026" MISSED " ended, and interrupts\n" },
        { 80, "{" HOST "," HALF "}", "host      1.62 of 2 CPUs" MISSED "\u2026\n" },
};

START_TEST(an_ellipsis_stands_for_what_would_have_been_said) {
        json_object *json = json_tokener_parse(cut_rows[_i].side);
        Terminal terminal = { .out = true, .columns = cut_rows[_i].columns };
        const HostSide side = { .host = json_object_object_get(json, "host"),
                                .coverage = json_object_object_get(json, "coverage"),
                                .elapsed_ns = 10 * NSEC_PER_SEC };
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = {
                .out = out, .terminal = &terminal, .label_columns = 8, .max_lines = 1
        };

        ck_assert_int_eq(host_lines_print(&lines, &side, 1), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, cut_rows[_i].text);
        free(text);
        (void) json_object_put(json);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-lines");
        TCase *coverage = tcase_create("coverage");

        tcase_add_loop_test(coverage, coverage_is_told_as_far_as_it_is_known, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(coverage, an_ellipsis_stands_for_what_would_have_been_said, 0,
                            ELEMENTSOF(cut_rows));
        suite_add_tcase(suite, coverage);
        return check_main(suite);
}
