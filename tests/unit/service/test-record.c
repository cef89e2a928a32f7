/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "service/method/method.h"

/* Receives the standard error of a case. */
static FILE *written;
static int real_stderr;
static char heard[16384];

static void setup(void) {
        written = tmpfile();
        ck_assert_ptr_nonnull(written);
        real_stderr = dup(STDERR_FILENO);
        ck_assert_int_ge(dup2(fileno(written), STDERR_FILENO), 0);
        ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
        ck_assert_int_eq(unsetenv("SYSTEMD_LOG_LEVEL"), 0);
        log_open(LOG_INFO);
}

static void teardown(void) {
        ck_assert_int_ge(dup2(real_stderr, STDERR_FILENO), 0);
        (void) close(real_stderr);
        (void) fclose(written);
}

static const char *hear(void) {
        ssize_t n = pread(fileno(written), heard, sizeof(heard) - 1, 0);

        ck_assert_int_ge(n, 0);
        heard[n] = '\0';
        return heard;
}

static void take(LogLimit *failures, const char *name, const char *call, const char *frame,
                 bool is_error, uint64_t now_ns) {
        json_object *parameters = call ? json_tokener_parse(call) : NULL;
        const Method *method = methods;
        RecordedCall recorded = { .method = name, .uid = 1000, .parameters = parameters };

        while (method->name && strcmp(method->name, name) != 0)
                method++;
        ck_assert_ptr_nonnull(method->name);
        recorded.record = method->record;
        record_call(failures, &recorded, span_of(frame), is_error, now_ns);
        json_object_put(parameters);
}

#define P(method) "io.ctprof.Profiler." method
#define HEAD_A "{\"name\":\"a\",\"uid\":7,\"startRealtimeNs\":1700000000000000000}"

static const struct {
        const char *method, *call, *frame;
        bool is_error;
        const char *lines;
} rows[] = {
        { P("Capture"), "{}", "{\"parameters\":{\"snapshot\":" HEAD_A ",\"sources\":[]}}", false,
          "ctprofd: uid 1000 took snapshot \"a\"\n" },
        { P("Capture"), "{}",
          "{\"parameters\":{\"snapshot\":" HEAD_A ",\"replaced\":" HEAD_A
          ",\"rotated\":[\"x\",\"y\"]}}",
          false,
          "ctprofd: uid 1000 took snapshot \"a\"\n"
          "ctprofd: uid 1000 replaced snapshot \"a\" of uid 7, taken 2023-11-14T22:13:20Z\n"
          "ctprofd: uid 1000 made room by removing snapshot \"x\"\n"
          "ctprofd: uid 1000 made room by removing snapshot \"y\"\n" },
        /* Only the name of a damaged snapshot is known. */
        { P("Capture"), "{}",
          "{\"parameters\":{\"snapshot\":{\"name\":\"a\"},\"replaced\":{\"name\":\"a\"}}}", false,
          "ctprofd: uid 1000 took snapshot \"a\"\n"
          "ctprofd: uid 1000 replaced snapshot \"a\"\n" },
        { P("Import"), "{}", "{\"parameters\":{\"snapshots\":[" HEAD_A "],\"rotated\":[\"x\"]}}",
          false,
          "ctprofd: uid 1000 imported snapshot \"a\"\n"
          "ctprofd: uid 1000 made room by removing snapshot \"x\"\n" },
        { P("Remove"), "{}", "{\"parameters\":{\"snapshots\":[" HEAD_A ",{\"name\":\"b\"}]}}",
          false,
          "ctprofd: uid 1000 removed snapshot \"a\" of uid 7, taken 2023-11-14T22:13:20Z\n"
          "ctprofd: uid 1000 removed snapshot \"b\"\n" },
        { P("Rename"), "{}", "{\"parameters\":{\"snapshots\":[" HEAD_A "],\"oldName\":\"o\"}}",
          false, "ctprofd: uid 1000 renamed a snapshot to \"a\", formerly \"o\"\n" },
        { P("List"), "{}", "{\"parameters\":{\"snapshots\":[" HEAD_A "]}}", false, "" },
        /* Failed calls that would change the spool are recorded with the snapshot they named. */
        { P("Remove"), "{\"names\":[\"a\",\"b\"]}",
          "{\"error\":\"org.varlink.service.PermissionDenied\","
          "\"parameters\":{\"reason\":\"no\"}}",
          true,
          "ctprofd: io.ctprof.Profiler.Remove by uid 1000 failed: "
          "\"org.varlink.service.PermissionDenied\" \"a\" \"no\"\n" },
        { P("Capture"), "{\"tag\":\"t\"}",
          "{\"error\":\"io.ctprof.Profiler.Busy\",\"parameters\":{\"reason\":\"later\"}}", true,
          "ctprofd: io.ctprof.Profiler.Capture by uid 1000 failed: \"io.ctprof.Profiler.Busy\" "
          "\"t\" \"later\"\n" },
        { P("Rename"), "{\"name\":\"o\",\"newName\":\"n\"}",
          "{\"error\":\"io.ctprof.Profiler.SnapshotExists\",\"parameters\":{\"name\":\"n\"}}", true,
          "ctprofd: io.ctprof.Profiler.Rename by uid 1000 failed: "
          "\"io.ctprof.Profiler.SnapshotExists\" \"n\"\n" },
        { P("Info"), "{}", "{\"error\":\"io.ctprof.Profiler.NoSuchSnapshot\"}", true, "" },
        { P("Info"), NULL, "{\"error\":\"org.varlink.service.PermissionDenied\"}", true,
          "ctprofd: io.ctprof.Profiler.Info by uid 1000 failed: "
          "\"org.varlink.service.PermissionDenied\"\n" },
        { P("Show"), NULL,
          "{\"error\":\"io.ctprof.Profiler.Busy\",\"parameters\":{\"reason\":\"later\"}}", true,
          "ctprofd: io.ctprof.Profiler.Show by uid 1000 failed: \"io.ctprof.Profiler.Busy\" "
          "\"later\"\n" },
        /* Foreign text is always quoted. */
        { P("Capture"), "{\"tag\":\"a\\nctprofd: b\\u001b\"}",
          "{\"error\":\"io.ctprof.Profiler.InvalidName\"}", true,
          "ctprofd: io.ctprof.Profiler.Capture by uid 1000 failed: "
          "\"io.ctprof.Profiler.InvalidName\" \"a\\x0actprofd: b\\x1b\"\n" },
        /* Also the name of an error, which a job chooses. */
        { P("Capture"), "{}", "{\"error\":\"a.B\\nctprofd: uid 0 removed\\u001b\"}", true,
          "ctprofd: io.ctprof.Profiler.Capture by uid 1000 failed: "
          "\"a.B\\x0actprofd: uid 0 removed\\x1b\"\n" },
        /* A malformed reply of a job only loses its own line. */
        { P("Capture"), "{}", "{\"parameters\":{\"snapshot\":1,\"rotated\":{},\"replaced\":[]}}",
          false,
          "ctprofd: uid 1000 took snapshot \"\"\n"
          "ctprofd: uid 1000 replaced snapshot \"\"\n" },
        { P("Capture"), "{}", "nonsense", false, "" },
};

static const LogLimit limit = {
        .interval_ns = 60 * NSEC_PER_SEC,
        .burst = LIMIT_LOGGED_FAILURES_PER_MINUTE,
};

START_TEST(what_was_done_and_refused_is_a_line_each) {
        LogLimit failures = limit;

        take(&failures, rows[_i].method, rows[_i].call, rows[_i].frame, rows[_i].is_error, 1);
        ck_assert_str_eq(hear(), rows[_i].lines);
}
END_TEST

START_TEST(failures_are_logged_only_so_often) {
        static const char frame[] = "{\"error\":\"io.ctprof.Profiler.Busy\"}";
        unsigned n_lines = 0;
        LogLimit failures = limit;

        for (unsigned i = 0; i < 100; i++)
                take(&failures, P("Capture"), "{}", frame, true, NSEC_PER_SEC);
        for (const char *c = hear(); *c; c++)
                n_lines += *c == '\n';
        ck_assert_uint_eq(n_lines, 60);
        take(&failures, P("Capture"), "{}", frame, true, 62 * NSEC_PER_SEC);
        ck_assert_ptr_nonnull(strstr(hear(), "Busy\" (40 others were not logged)\n"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("record");
        TCase *record = tcase_create("record");

        tcase_add_checked_fixture(record, setup, teardown);
        tcase_add_loop_test(record, what_was_done_and_refused_is_a_line_each, 0, ELEMENTSOF(rows));
        tcase_add_test(record, failures_are_logged_only_so_often);
        suite_add_tcase(suite, record);
        return check_main(suite);
}
