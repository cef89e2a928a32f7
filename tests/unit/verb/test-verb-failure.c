/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"
#include "render/printable.h"
#include "verb/verbs.h"

static const Exchange listed[] = { { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD(
        "newest") "," HEAD("a-name\\uef9b") "],"
                                            "\"unreadable\":[{\"name\":\"bad\",\"ok\":false,"
                                            "\"error\":\"Its head is cut off.\","
                                            "\"offset\":null}]}}") } };

/* what goes wrong */

static const struct {
        const char *reply; /* NULL: none at all */
        int status;
        const char *sentence;
} failures[] = {
        { NULL, 1,
          "ctprofd hung up in the middle of the call: \"journalctl -u ctprofd\" may tell why.\n" },
        { "{\"error\":\"io.ctprof.Profiler.NoSuchSnapshot\",\"parameters\":{\"name\":\"a\"}}", 1,
          "There is no snapshot \"a\": \"ctprofctl list\" shows all names.\n" },
        { "{\"error\":\"io.ctprof.Profiler.InvalidName\",\"parameters\":{\"name\":\"a\",\"reason\":"
          "\"is odd\"}}",
          2, "The name \"a\" is odd.\n" },
        { "nonsense", 1, NULL },
};

START_TEST(failures_are_one_sentence) {
        const Exchange exchange = {
                .replies = failures[_i].reply,
                .n_replies = failures[_i].reply ? strlen(failures[_i].reply) + 1 : 0,
        };

        begin(&exchange, 1);
        CTL_RUN(&ctl, "show", "a", "--json");
        ck_assert_str_eq(ctl.out, "");
        ck_assert_int_eq(ctl.status, failures[_i].status);
        if (failures[_i].sentence)
                ck_assert_str_eq(ctl.err, failures[_i].sentence);
        ck_assert_ptr_eq(strchr(ctl.err, '\n'), ctl.err + strlen(ctl.err) - 1);
        end();
}
END_TEST

static const Exchange cut_off[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":" HEAD("a") ",\"sources\":[]},\"continues\":true}") } };

START_TEST(half_an_answer_is_a_failure) {
        begin(cut_off, 1);
        CTL_RUN(&ctl, "show", "a", "--json");
        ck_assert_int_eq(ctl.status, 1);
        ck_assert_ptr_nonnull(strstr(ctl.err, "hung up"));
        end();
}
END_TEST

START_TEST(nobody_there_is_one_sentence) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "list", "--socket", "nobody");
        expect(1, "",
               "No ctprofd is at nobody: as root, \"systemctl enable --now ctprofd.socket\" starts "
               "it; --local does without.\n");
        end();
}
END_TEST

static const struct {
        const char *words[5];
        const char *sentence;
} usages[] = {
        { { NULL }, "No verb is given: \"ctprofctl --help\" lists them.\n" },
        { { "captrue" }, "Unknown verb \"captrue\", did you mean \"capture\"?\n" },
        { { "frobnicate" }, "Unknown verb \"frobnicate\": \"ctprofctl --help\" lists them all.\n" },
        { { "show" },
          "\"show\" needs a snapshot or an interval, as in \"ctprofctl show SNAPSHOT|A..B\".\n" },
        { { "list", "extra" }, "\"list\" does not take the argument \"extra\".\n" },
        { { "list", "--limit", "3" }, "\"list\" does not take --limit.\n" },
        { { "show", "a", "--format=csv", "--json" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "show", "a", "--format=table", "-j" },
          "--format and --json are two forms of one result: give either.\n" },
        { { "show", "a", "--format=ktstr" },
          "\"show\" has no --format ktstr: there are table, csv, folded, html, ndjson, pprof, "
          "speedscope.\n" },
        { { "show", "a", "--threshold=5" },
          "--threshold needs two sides, which \"show\" does not have: \"compare\" takes two "
          "snapshots "
          "with --totals, or two intervals (A..B C..D).\n" },
        { { "show", "a..b", "--totals" },
          "--totals is for two snapshots, as in \"ctprofctl compare A B --totals\".\n" },
        { { "list", "--threshold=5" }, "\"list\" does not take --threshold.\n" },
        { { "export", "a", "--format=csv" },
          "A snapshot is exported as ctprof, ktstr, ndjson or denet: --format csv is for \"export "
          "--changes\".\n" },
        { { "export", "a", "--format=html" },
          "\"export\" has no --format html: there are csv, ctprof, denet, ktstr, ndjson.\n" },
        { { "export", "a", "--top=3" },
          "--top is for \"export --changes\", which exports intervals: a snapshot is exported as "
          "it is.\n" },
        { { "verify" }, "\"verify\" needs either snapshots or --all.\n" },
        { { "verify", "a", "--all" }, "\"verify\" needs either snapshots or --all.\n" },
        { { "list", "--local", "--socket", "x" },
          "--local starts a daemon and --socket names one: give only one of them.\n" },
        { { "list", "--spool", "x" }, "--spool goes with --local: a daemon has its own.\n" },
        { { "capture", "--replace" }, "--replace needs the name to replace: give --tag NAME.\n" },
        { { "capture", "--smaps", "--no-smaps" }, "--smaps and --no-smaps exclude each other.\n" },
        { { "show", "a b" },
          "The snapshot name \"a b\" has a character other than A-Z a-z 0-9 . _ -.\n" },
        { { "list", "--since=now", "--until=-1h" },
          "--since is later than --until: no snapshot can lie between them.\n" },
};

START_TEST(a_wrong_command_line_is_one_sentence_and_asks_nobody) {
        begin(listed, 1);
        ctl_run(&ctl, usages[_i].words);
        expect(2, "", usages[_i].sentence);
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

#define VERB_NAME(id, name, ...) name,
static const char *const helped[] = { VERBS(VERB_NAME) };

START_TEST(every_verb_has_help_that_fits_a_page) {
        char *rest;

        begin(NULL, 0);
        CTL_RUN(&ctl, helped[_i], "--help");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_str_eq(ctl.err, "");
        ck_assert_ptr_nonnull(strstr(ctl.out, helped[_i]));
        for (char *line = strtok_r(ctl.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                ck_assert_uint_le(printable_width(span_of(line)), 80);
        CTL_RUN(&ctl, "--help");
        ck_assert_ptr_nonnull(strstr(ctl.out, helped[_i]));
        end();
}
END_TEST

static const struct {
        const char *verb, *has, *lacks;
} meanings[] = {
        { "capture", "--tag NAME ", "PREFIX" },
        { "run", "--tag PREFIX ", "export" },
        { "import", "default: the name of the", "the time of the capture" },
        { "export", "ctprof (default", "html" },
        { "show", "table (default)", "ktstr" },
        { "show", "Also rows without a value", "did not change" },
        { "show", "value work", "arrow" },
        { "compare", "exit 3", "ktstr" },
        { "compare", "arrow delta", "rate value" },
        { "capture", "ctprofctl capture [OPTIONS...]\n", "csv" },
        { "compare", "ctprofctl compare [OPTIONS...] BEFORE AFTER", "ktstr" },
};

START_TEST(the_help_of_a_verb_is_about_that_verb) {
        begin(NULL, 0);
        CTL_RUN(&ctl, meanings[_i].verb, "--help");
        ck_assert_ptr_nonnull(strstr(ctl.out, meanings[_i].has));
        ck_assert_ptr_null(strstr(ctl.out, meanings[_i].lacks));
        end();
}
END_TEST

START_TEST(help_is_also_a_verb) {
        static char page[CTL_OUTPUT_BYTES];

        begin(NULL, 0);
        CTL_RUN(&ctl, "show", "--help");
        (void) strcpy(page, ctl.out);
        CTL_RUN(&ctl, "help", "show");
        expect(0, page, "");
        CTL_RUN(&ctl, "--help");
        (void) strcpy(page, ctl.out);
        CTL_RUN(&ctl, "help");
        expect(0, page, "");
        CTL_RUN(&ctl, "help", "shwo");
        expect(2, "", "Unknown verb \"shwo\", did you mean \"show\"?\n");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-failure");
        TCase *failure = tcase_create("failure");

        tcase_add_loop_test(failure, failures_are_one_sentence, 0, ELEMENTSOF(failures));
        tcase_add_test(failure, half_an_answer_is_a_failure);
        tcase_add_test(failure, nobody_there_is_one_sentence);
        tcase_add_loop_test(failure, a_wrong_command_line_is_one_sentence_and_asks_nobody, 0,
                            ELEMENTSOF(usages));
        tcase_add_loop_test(failure, every_verb_has_help_that_fits_a_page, 0, ELEMENTSOF(helped));
        tcase_add_loop_test(failure, the_help_of_a_verb_is_about_that_verb, 0,
                            ELEMENTSOF(meanings));
        tcase_add_test(failure, help_is_also_a_verb);
        suite_add_tcase(suite, failure);
        return check_main(suite);
}
