/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

/* capture */

static const Exchange captured[] = { { REPLIES(
        "{\"parameters\":{\"progress\":{\"phase\":\"threads\",\"done\":1,\"total\":213}},"
        "\"continues\":true}\0"
        "{\"parameters\":{\"snapshot\":" HEAD("a") ",\"sources\":" SOME_SOURCES
                                                   ",\"rotated\":[]}}") } };

START_TEST(capture_tells_what_was_taken_and_what_is_missing) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "--tag", "a", "--replace", "--no-smaps");
        expect(0,
               "a: 213 threads of 98 processes in 52.301ms, 48.126KiB\n"
               "missing   io: 201 of 213 threads refused (info a)\n",
               "");
        ck_assert_str_eq(ctl.asked,
                         "{\"method\":\"io.ctprof.Profiler.Capture\",\"parameters\":"
                         "{\"tag\":\"a\",\"replace\":true,\"smaps\":false},\"more\":true}\n");
        end();
}
END_TEST

START_TEST(verbose_capture_tells_why_it_is_missing) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "--tag", "a", "--verbose");
        expect(0,
               "a: 213 threads of 98 processes in 52.301ms, 48.126KiB\n"
               "missing   io partial: others' io needs CAP_SYS_PTRACE\n",
               "");
        end();
}
END_TEST

static const struct {
        const char *option, *parameters;
} reading_rows[] = {
        { "--smaps", "{\"smaps\":true}" },
        { "--smaps=all", "{\"smaps\":true}" },
        { "--smaps=small", "{\"smapsMode\":\"small\"}" },
        { "--smaps=none", "{\"smaps\":false}" },
        { "--no-smaps", "{\"smaps\":false}" },
        { "--no-heap", "{\"heap\":false}" },
        { "--quiet", "{}" }, /* neither: the daemon decides */
};

START_TEST(what_is_read_besides_is_said_or_left_to_the_daemon) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", reading_rows[_i].option);
        ck_assert_ptr_nonnull(strstr(ctl.asked, reading_rows[_i].parameters));
        end();
}
END_TEST

START_TEST(capture_json_is_the_contract) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "--json");
        expect(0, "{\"snapshot\":" HEAD("a") ",\"sources\":" SOME_SOURCES "}\n", "");
        end();
}
END_TEST

static const Exchange in_place[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":" HEAD("a") ",\"sources\":[],\"rotated\":[\"r\"],"
                                                   "\"replaced\":" HEAD("a") "}}") } };

START_TEST(capture_json_tells_what_went_for_it) {
        begin(in_place, 1);
        CTL_RUN(&ctl, "capture", "--json", "--tag=a", "--replace");
        expect(0,
               "{\"snapshot\":" HEAD("a") ",\"sources\":[],\"rotated\":[\"r\"],\"replaced\":" HEAD(
                       "a") "}\n",
               "");
        end();
}
END_TEST

START_TEST(quiet_says_nothing) {
        begin(captured, 1);
        CTL_RUN(&ctl, "capture", "-q");
        expect(0, "", "");
        end();
}
END_TEST

static const Exchange anonymous[] = { {
        REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
                "a") ",\"sources\":[],\"fileDescriptor\":0}}"),
        .file = "the snapshot",
} };

START_TEST(capture_output_writes_the_file_beside_the_spool) {
        char path[TEMPORARY_PATH_BYTES], text[32] = "";
        FILE *file;

        begin(anonymous, 1);
        CTL_RUN(&ctl, "capture", "--output", "f.zst");
        expect(0, "a written to f.zst: 213 threads of 98 processes in 52.301ms, 48.126KiB\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"anonymous\":true"));
        file = fopen(temporary_path(&ctl.temporary, "f.zst", path), "re");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fread(text, 1, sizeof(text) - 1, file), strlen("the snapshot"));
        (void) fclose(file);
        ck_assert_str_eq(text, "the snapshot");
        end();
}
END_TEST

START_TEST(capture_output_dash_is_stdout_and_nothing_else) {
        begin(anonymous, 1);
        CTL_RUN(&ctl, "capture", "--output", "-");
        expect(0, "the snapshot",
               "a written to stdout: 213 threads of 98 processes in 52.301ms, 48.126KiB\n");
        CTL_RUN(&ctl, "capture", "--output=-", "--json");
        expect(2, "", "--output - and --json both want stdout: name a file.\n");
        end();
}
END_TEST

START_TEST(what_is_done_at_once_shows_no_progress) {
        begin(captured, 1);
        CTL_RUN_TERMINAL(&ctl, 80, "capture", "--tag", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.out, "a: 213 threads of 98 processes"), ctl.out);
        ck_assert_ptr_null(strchr(ctl.out, '\033'));
        end();
}
END_TEST

/* run */

static const Exchange ran[] = {
        { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD("other") "]}}") },
        { REPLIES("{\"parameters\":{\"snapshot\":" HEAD("t-before") ",\"sources\":[]}}") },
        { REPLIES("{\"parameters\":{\"snapshot\":" HEAD("t-after") ",\"sources\":[]}}") },
        { REPLIES(COMPARED("5", HEAD("t-before"), HEAD("t-after"))) },
};

START_TEST(run_ends_as_the_command_did) {
        begin(ran, 4);
        CTL_RUN(&ctl, "run", "--tag", "t", "--", "sh", "-c", "echo out; exit 3");
        ck_assert_str_eq(ctl.err, "");
        ck_assert_int_eq(ctl.status, 3);
        ck_assert_ptr_nonnull(strstr(ctl.out, "out\nsh -c 'echo out; exit 3': exit 3, "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "before    t-before, "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nsh -c 'echo out; exit 3'       - "));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"before\":{\"name\":\"t-before\"}"));

        CTL_RUN(&ctl, "run", "--json", "--tag=t", "--", "sh", "-c", "echo out; kill -KILL $$");
        ck_assert_int_eq(ctl.status, 137);
        ck_assert_str_eq(ctl.err, "out\n");
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"command\":{\"words\":[\"sh\",\"-c\","));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\"signal\":9,\"elapsedNs\":"));
        end();
}
END_TEST

START_TEST(run_keeps_stdout_for_the_rows) {
        begin(ran, 4);
        CTL_RUN(&ctl, "run", "--format", "csv", "--tag=t", "--", "echo", "out");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_eq(strstr(ctl.out, "kind,group_by,before_snapshot,"), ctl.out);
        ck_assert_ptr_eq(strstr(ctl.err, "out\necho out: exit 0, "), ctl.err);
        CTL_RUN(&ctl, "run", "--format", "csv", "--tag=t", "-q", "--", "echo", "out");
        ck_assert_str_eq(ctl.err, "out\n");
        end();
}
END_TEST

START_TEST(run_checks_before_it_starts) {
        begin((const Exchange[]){ { REPLIES(
                      "{\"parameters\":{\"snapshots\":[" HEAD("t-after") "]}}") } },
              1);
        CTL_RUN(&ctl, "run", "--tag", "t", "--", "touch", "ran");
        expect(1, "",
               "The name \"t-after\" is taken: choose another with --tag, or remove that snapshot "
               "first.\n");
        CTL_RUN(&ctl, "run", "--", "/nonexistent/program");
        expect(127, "", "\"/nonexistent/program\" cannot be run: there is no such program.\n");
        ck_assert_str_eq(ctl.asked, "");
        CTL_RUN(&ctl, "run", "--columns", "x", "--", "true");
        ck_assert_int_eq(ctl.status, 2);
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-capture");
        TCase *take = tcase_create("take");

        tcase_add_test(take, capture_tells_what_was_taken_and_what_is_missing);
        tcase_add_test(take, verbose_capture_tells_why_it_is_missing);
        tcase_add_loop_test(take, what_is_read_besides_is_said_or_left_to_the_daemon, 0,
                            ELEMENTSOF(reading_rows));
        tcase_add_test(take, capture_json_is_the_contract);
        tcase_add_test(take, capture_json_tells_what_went_for_it);
        tcase_add_test(take, quiet_says_nothing);
        tcase_add_test(take, capture_output_writes_the_file_beside_the_spool);
        tcase_add_test(take, capture_output_dash_is_stdout_and_nothing_else);
        tcase_add_test(take, what_is_done_at_once_shows_no_progress);
        tcase_add_test(take, run_ends_as_the_command_did);
        tcase_add_test(take, run_keeps_stdout_for_the_rows);
        tcase_add_test(take, run_checks_before_it_starts);
        suite_add_tcase(suite, take);
        return check_main(suite);
}
