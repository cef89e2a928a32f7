/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/missing.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"

#define SOURCE(name, state, counts) \
        "{\"name\":\"" name "\",\"state\":\"" state "\",\"reason\":\"why " name "\"," counts "}"
#define COUNTS(ok, denied, unsupported, malformed, other)                     \
        "\"ok\":" #ok ",\"denied\":" #denied ",\"unsupported\":" #unsupported \
        ",\"malformed\":" #malformed ",\"other\":" #other
#define FINE(name) SOURCE(name, "ok", COUNTS(122, 0, 0, 0, 0))
#define IO SOURCE("io", "partial", COUNTS(109, 13, 0, 0, 0))
#define IO_OTHER SOURCE("io", "partial", COUNTS(110, 14, 0, 0, 0))
#define SCHEDSTATS SOURCE("schedstats", "unavailable", COUNTS(0, 0, 122, 0, 0))
#define SWITCHED_OFF                                                             \
        "{\"name\":\"schedstats\",\"state\":\"unavailable\",\"reason\":\"why\"," \
        "\"switchedOff\":true," COUNTS(0, 0, 122, 0, 0) "}"
#define OFF_BY                                                                                \
        "{\"name\":\"schedstats\",\"state\":\"unavailable\",\"reason\":\"why\","              \
        "\"remedy\":\"kernel.sched_schedstats=1\",\"switchedOff\":true," COUNTS(0, 0, 122, 0, \
                                                                                0) "}"
#define REFUSED(name, counts)                                                       \
        "{\"name\":\"" name "\",\"state\":\"partial\",\"reason\":\"why " name "\"," \
        "\"remedy\":\"run ctprofd as root\"," counts "}"
#define UNSUPPORTED(name) SOURCE(name, "unavailable", COUNTS(0, 0, 9, 0, 0))
#define PARTLY_OFF                                                                \
        "{\"name\":\"taskstats-delay\",\"state\":\"partial\",\"reason\":\"why\"," \
        "\"switchedOff\":true," COUNTS(9, 2, 113, 0, 0) "}"
#define SMAPS SOURCE("smaps_rollup", "partial", COUNTS(41, 1, 0, 0, 2))
#define JEMALLOC SOURCE("jemalloc", "partial", COUNTS(20, 3, 1, 0, 0))
#define JEMALLOC_NEVER_READ                                                                    \
        "{\"name\":\"jemalloc\",\"state\":\"unavailable\",\"reason\":\"this version does not " \
        "read allocator counters\"," COUNTS(0, 0, 122, 0, 0) "}"
#define VERSION_0(name)     \
        "{\"name\":\"" name \
        "\",\"state\":\"unavailable\",\"reason\":\"format version 0\"," COUNTS(0, 0, 0, 0, 0) "}"
#define OLD "[" VERSION_0("stat") "," VERSION_0("io") "," JEMALLOC_NEVER_READ "]"

static const struct {
        const char *sources[MISSING_MAX_SIDES]; /* of each side; NULL: there is no such side */
        size_t columns;                         /* of the terminal; 0: a pipe */
        bool verbose;
        const char *text;
} rows[] = {
        { { "[]" }, 0, false, "" },
        { { "null", "null" }, 0, false, "" },
        { { "[" FINE("stat") "," JEMALLOC_NEVER_READ "]" }, 0, false, "" },
        { { "[" FINE("stat") "," JEMALLOC_NEVER_READ "]" }, 0, true, "" },
        { { "[" FINE("stat") "," SOURCE("jemalloc", "not-requested", COUNTS(0, 0, 0, 0, 0)) "]" },
          0,
          true,
          "" },

        /* how much of what */
        { { "[" FINE("stat") "," IO "]" },
          0,
          false,
          "missing   io: 13 of 122 threads refused (--verbose)\n" },
        { { "[" FINE("stat") "," SCHEDSTATS "," IO "," SMAPS "]" },
          0,
          false,
          "missing   io: 13 of 122 threads refused; smaps_rollup: 1 of 44 processes refused, 2 not "
          "read; 1 unsupported (--verbose)\n" },

        /* how to turn it on, once for all that it turns on; what nothing does is counted */
        { { "[" OFF_BY "," REFUSED("io", COUNTS(109, 13, 0, 0, 0)) "," REFUSED(
                  "smaps_rollup", COUNTS(41, 1, 0, 0, 0)) "," UNSUPPORTED("taskstats-irq") "]" },
          0,
          false,
          "missing   schedstats: off (kernel.sched_schedstats=1); io: 13 of 122 threads refused "
          "(run ctprofd as root); smaps_rollup: 1 of 42 processes refused; 1 unsupported "
          "(--verbose)\n" },
        { { "[" OFF_BY "," REFUSED("io", COUNTS(109, 13, 0, 0, 0)) "," UNSUPPORTED(
                  "taskstats-irq") "," UNSUPPORTED("sched") "]" },
          100,
          false,
          "missing   schedstats: off (kernel.sched_schedstats=1); 1 more, 2 unsupported "
          "(--verbose)\n" },
        { { "[" OFF_BY "," UNSUPPORTED("sched") "]" },
          68,
          false,
          "missing   schedstats: off (kernel.sched_schedstats=1); 1 unsupported\n" },
        { { "[" OFF_BY "," UNSUPPORTED("sched") "]" },
          67,
          false,
          "missing   schedstats: off; 1 unsupported (--verbose)\n" },
        /* what can be turned on comes first */
        { { "[" IO "," OFF_BY "," SMAPS "," UNSUPPORTED("sched") "]" },
          80,
          false,
          "missing   schedstats: off (kernel.sched_schedstats=1); 2 more, 1 unsupported\n" },
        { { "[" UNSUPPORTED("taskstats-irq") "," UNSUPPORTED("sched") "]" },
          80,
          false,
          "missing   2 unsupported (--verbose)\n" },
        { { "[" OFF_BY "]", "[" SWITCHED_OFF "]" }, /* of an earlier version */
          0,
          false,
          "missing   schedstats: off (kernel.sched_schedstats=1) (--verbose)\n" },
        { { "[" UNSUPPORTED("sched") "]",
            "[" SOURCE("sched", "partial", COUNTS(5, 0, 4, 0, 0)) "]" },
          0,
          false,
          "missing   1 unsupported (--verbose)\n" },
        { { "[" FINE("stat") "," JEMALLOC "]" },
          0,
          false,
          "missing   jemalloc: 3 of 24 threads refused, 1 unsupported (--verbose)\n" },
        /* what a setting would turn on is supported */
        { { "[" FINE("stat") "," SWITCHED_OFF "," PARTLY_OFF "]" },
          0,
          false,
          "missing   schedstats: off; taskstats-delay: 2 of 124 threads refused, 113 off "
          "(--verbose)\n" },
        { { "[" FINE("stat") "," SWITCHED_OFF "]", "[" FINE("stat") "," SCHEDSTATS "]" },
          0,
          false,
          "missing   schedstats before: off; 1 unsupported (--verbose)\n" },
        { { "[" FINE("stat") "," SOURCE("taskstats-delay", "partial", COUNTS(5, 0, 0, 0, 0)) "]" },
          0,
          false,
          "missing   taskstats-delay: partial (--verbose)\n" },
        { { "[" FINE("stat") "," SOURCE("cgroup-stats", "partial", COUNTS(0, 0, 0, 1, 0)) "]" },
          0,
          false,
          "missing   cgroup-stats: 1 of 1 cgroup malformed (--verbose)\n" },
        { { "[" FINE("stat") "," SOURCE("host-disk", "partial", COUNTS(5, 0, 0, 1, 0)) "]" },
          0,
          false,
          "missing   host-disk: 1 of 6 readings malformed (--verbose)\n" },
        { { "[" FINE("stat") ",{\"name\":\"sched\",\"state\":\"ok\",\"implausible\":1}]" },
          0,
          false,
          "missing   sched: 1 value implausible (--verbose)\n" },

        /* why */
        { { "[" FINE("stat") "," SCHEDSTATS "," IO "]" },
          0,
          true,
          "missing   schedstats unavailable: why schedstats\n"
          "missing   io partial: why io\n" },
        { { "[" FINE("stat") "," JEMALLOC "]" },
          0,
          true,
          "missing   jemalloc partial: why jemalloc\n" },
        { { "[" FINE("stat") "," IO "]", "[" FINE("stat") "," IO_OTHER "]" },
          0,
          true,
          "missing   io (before and after), partial: why io\n" },
        { { "[" FINE("stat") ",{\"name\":\"sched\",\"state\":\"ok\",\"implausible\":2}]" },
          0,
          true,
          "missing   sched, 2 values left out as implausible: more than the age of the thread or "
          "the interval allows\n" },

        /* sides share what is the same */
        { { "[" FINE("stat") "," IO "]", "[" FINE("stat") "," IO "]" },
          0,
          false,
          "missing   io: 13 of 122 threads refused (--verbose)\n" },
        { { "[" FINE("stat") "," IO "]", "[" FINE("stat") "," IO_OTHER "]" },
          0,
          false,
          "missing   io: 13-14 of 122-124 threads refused (--verbose)\n" },
        { { "[" FINE("stat") "," IO "]", "[" FINE("stat") "," FINE("io") "]" },
          0,
          false,
          "missing   io before: 13 of 122 threads refused (--verbose)\n" },
        { { "[" FINE("io") "]", "[" IO "]", "[" IO "]", "[" IO "]" },
          0,
          false,
          "missing   io after, B before and B after: 13 of 122 threads refused (--verbose)\n" },
        { { "[" FINE("stat") "," IO "]",
            "[" FINE("stat") "," SOURCE("io", "unavailable", COUNTS(0, 122, 0, 0, 0)) "]" },
          0,
          false,
          "missing   io before: 13 of 122 threads refused; io after: refused (--verbose)\n" },

        /* a file of the prior tool */
        { { OLD }, 0, false, "missing   every source: format version 0\n" },
        { { OLD, OLD }, 0, false, "missing   every source: format version 0\n" },
        { { OLD, OLD }, 0, true, "missing   every source (before and after): format version 0\n" },
        { { OLD, "[" FINE("stat") "," IO "]" },
          0,
          false,
          "missing   every source before: format version 0; io after: 13 of 122 threads refused "
          "(--verbose)\n" },

        /* one line, however narrow: 10 columns are the label's */
        { { "[" SCHEDSTATS "," IO "," SMAPS "]" },
          102,
          false,
          "missing   io: 13 of 122 threads refused; 1 more, 1 unsupported (--verbose)\n" },
        { { "[" SCHEDSTATS "," IO "," SMAPS "]" },
          74,
          false,
          "missing   io: 13 of 122 threads refused; 1 more, 1 unsupported (--verbose)\n" },
        { { "[" SCHEDSTATS "," IO "," SMAPS "]" },
          73,
          false,
          "missing   2 sources, 1 unsupported (--verbose)\n" },
        { { "[" FINE("stat") "," IO "]" }, 40, false, "missing   1 source (--verbose)\n" },
};

START_TEST(what_is_missing_is_one_line_and_its_reasons_are_lines) {
        static const char *const labels[] = { "before", "after", "B before", "B after" };
        Missing missing = { .verbose = rows[_i].verbose, .way = "--verbose" };
        Terminal terminal = { .out = rows[_i].columns > 0, .columns = rows[_i].columns };
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = { .out = out, .terminal = &terminal, .label_columns = 8 };

        for (; missing.n_sides < MISSING_MAX_SIDES && rows[_i].sources[missing.n_sides];
             missing.n_sides++)
                missing.sides[missing.n_sides] =
                        (MissingSide){ labels[missing.n_sides],
                                       json_tokener_parse(rows[_i].sources[missing.n_sides]) };
        ck_assert_int_eq(missing_print(&lines, &missing), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, rows[_i].text);
        free(text);
        for (size_t i = 0; i < missing.n_sides; i++)
                (void) json_object_put(missing.sides[i].sources);
}
END_TEST

START_TEST(no_way_is_told_where_there_is_none) {
        const Missing missing = {
                .sides = { { "", json_tokener_parse("[" FINE("stat") "," IO "]") } }, .n_sides = 1
        };
        Terminal pipe = {};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = { .out = out, .terminal = &pipe, .label_columns = 8 };

        ck_assert_int_eq(missing_print(&lines, &missing), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, "missing   io: 13 of 122 threads refused\n");
        free(text);
        (void) json_object_put(missing.sides[0].sources);
}
END_TEST

static const struct {
        const char *reply, *text;
} reply_rows[] = {
        { "{\"sources\":[" FINE("stat") "," IO "]}",
          "missing   io: 13 of 122 threads refused (--verbose)\n" },
        { "{\"sourcesBefore\":[" FINE("stat") "," IO "],\"sourcesAfter\":[" FINE("io") "]}",
          "missing   io before: 13 of 122 threads refused (--verbose)\n" },
        { "{\"a\":{\"sourcesBefore\":[" FINE("io") "],\"sourcesAfter\":[" FINE(
                  "io") "]},\"b\":{"
                        "\"sourcesBefore\":[" FINE("stat") "," IO
                                                           "],\"sourcesAfter\":[" FINE("io") "]}}",
          "missing   io B before: 13 of 122 threads refused (--verbose)\n" },
        { "{}", "" },
};

START_TEST(every_snapshot_of_a_view_is_a_side) {
        json_object *reply = json_tokener_parse(reply_rows[_i].reply);
        Terminal pipe = {};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        const Lines lines = { .out = out, .terminal = &pipe, .label_columns = 8 };

        ck_assert_int_eq(missing_print_reply(&lines, reply, false), 0);
        (void) fclose(out);
        ck_assert_str_eq(text, reply_rows[_i].text);
        free(text);
        (void) json_object_put(reply);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("missing");
        TCase *print = tcase_create("print");

        tcase_add_loop_test(print, what_is_missing_is_one_line_and_its_reasons_are_lines, 0,
                            ELEMENTSOF(rows));
        tcase_add_test(print, no_way_is_told_where_there_is_none);
        tcase_add_loop_test(print, every_snapshot_of_a_view_is_a_side, 0, ELEMENTSOF(reply_rows));
        suite_add_tcase(suite, print);
        return check_main(suite);
}
