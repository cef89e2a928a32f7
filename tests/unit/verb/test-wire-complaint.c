/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <check.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"
#include "interface/interface.h"
#include "session/complain.h"

#define PROFILER PROFILER_INTERFACE "."
#define SERVICE VARLINK_SERVICE "."

static const struct {
        const char *error, *parameters;
        const char *subject, *taken_hint;
        int status;
        const char *sentence;
} rows[] = {
        { PROFILER "NoSuchSnapshot", "{\"name\":\"tken\",\"nearest\":\"taken\"}", "tken", NULL, 1,
          "There is no snapshot \"tken\", did you mean \"taken\"?" },
        { PROFILER "NoSuchSnapshot", "{\"name\":\"x\",\"nearest\":null}", "x", NULL, 1,
          "There is no snapshot \"x\": \"ctprofctl list\" shows all names." },
        { PROFILER "NoSuchSnapshot", "{\"name\":\"latest\",\"nearest\":null}", "a", NULL, 1,
          "There is no snapshot \"latest\": nothing was captured yet, and \"ctprofctl capture "
          "--tag "
          "before\" takes one." },
        { PROFILER "NoSuchSnapshot", "{\"name\":\"latest~1\",\"nearest\":null}", "a", NULL, 1,
          "There is no snapshot \"latest~1\": not so many were captured, and \"ctprofctl capture "
          "--tag before\" takes one." },
        { PROFILER "SnapshotExists", "{\"name\":\"a\"}", "a", "give --replace", 1,
          "The name \"a\" is taken: give --replace." },
        { PROFILER "SnapshotExists", "{\"name\":\"a\"}", "a", NULL, 1,
          "The name \"a\" is taken: choose another." },
        { PROFILER "InvalidName", "{\"name\":\"a/b\",\"reason\":\"contains a slash\"}", NULL, NULL,
          2, "The name \"a/b\" contains a slash." },
        { PROFILER "SnapshotUnreadable",
          "{\"name\":\"x\",\"reason\":\"its digest is wrong\",\"offset\":512}", NULL, NULL, 1,
          "\"x\" cannot be read as a snapshot: its digest is wrong, at byte 512." },
        { PROFILER "SnapshotUnreadable", "{\"name\":\"x\",\"reason\":\"it is empty.\"}", NULL, NULL,
          1, "\"x\" cannot be read as a snapshot: it is empty." },
        { PROFILER "SnapshotUnreadable", "{\"name\":\"passwd\",\"reason\":\"it is no zstd file\"}",
          "/etc/passwd", NULL, 1,
          "\"/etc/passwd\" cannot be read as a snapshot: it is no zstd file." },
        { PROFILER "SnapshotUnreadable", "{\"name\":\"a\",\"reason\":\"it is damaged\"}", "latest",
          NULL, 1, "\"a\" cannot be read as a snapshot: it is damaged." },
        { PROFILER "NoWindow", "{\"reason\":\"\\\"b\\\" was taken before \\\"a\\\"\"}", NULL, NULL,
          1, "There is no such interval: \"b\" was taken before \"a\"." },
        { "org.varlink.service.InvalidParameter",
          "{\"parameter\":\"view.threshold\",\"reason\":\"it needs two sides\"}", NULL, NULL, 2,
          "--threshold needs two sides, and one interval has only one: give --totals, or compare "
          "two intervals (A..B C..D)." },
        { "org.varlink.service.InvalidParameter", "{\"parameter\":\"view.sortBy\"}", NULL, NULL, 2,
          "--sort-by percent needs two sides, and one interval has only one: give --totals, or "
          "compare two intervals (A..B C..D)." },
        { PROFILER "SpoolFull", "{\"reason\":\"Spool \\\"/x\\\" is full: 12KiB do not fit\"}", NULL,
          NULL, 1, "Spool \"/x\" is full: 12KiB do not fit." },
        { PROFILER "SpoolUnavailable", "{\"reason\":\"/x is a symbolic link\"}", NULL, NULL, 1,
          "/x is a symbolic link." },
        { PROFILER "RecordingRuns",
          "{\"uid\":0,\"sinceRealtimeNs\":1795188901000000000,\"untilRealtimeNs\":"
          "1795192501000000000}",
          NULL, NULL, 1,
          "There is one recording at a time: root (uid 0) has recorded since 2026-11-20 15:35:01 "
          "UTC, and will until 2026-11-20 16:35:01 UTC at the latest." },
        { PROFILER "RecordingRuns", "{\"uid\":4294967294}", NULL, NULL, 1,
          "There is one recording at a time: uid 4294967294 has recorded since 1970-01-01 00:00:00 "
          "UTC, and will until 1970-01-01 00:00:00 UTC at the latest." },
        { PROFILER "NoRecording", "{}", NULL, NULL, 1, "Nothing is being recorded." },
        { PROFILER "Busy", "{\"reason\":\"8 captures wait\"}", NULL, NULL, 1,
          "ctprofd is busy: 8 captures wait; try again later." },
        { PROFILER "JobFailed", "{\"reason\":\"it took too long\"}", NULL, NULL, 1,
          "ctprofd could not do it: it took too long." },
        { PROFILER "JobFailed", "{}", NULL, NULL, 1,
          "ctprofd could not do it: no reason was given." },
        { SERVICE "PermissionDenied", "{}", "a", NULL, 1,
          "Not permitted: ctprofd does not say why; only root and the user who made a snapshot may "
          "remove, rename or replace it." },
        { SERVICE "PermissionDenied", "{\"reason\":\"\\\"a\\\" is another user's\"}", NULL, NULL, 1,
          "Not permitted: \"a\" is another user's; only root and the user who made a snapshot may "
          "remove, rename or replace it." },
        { SERVICE "InvalidParameter", "{\"parameter\":\"view.limit\"}", NULL, NULL, 2,
          "ctprofd does not accept \"view.limit\" of this call." },
        { SERVICE "InvalidParameter", "{\"parameter\":\"view\",\"reason\":\"It is new.\"}", NULL,
          NULL, 2, "ctprofd does not accept \"view\": It is new." },
        { SERVICE "MethodNotFound", "{\"method\":\"a.B\"}", NULL, NULL, 1,
          "This ctprofd does not know \"a.B\": it is older than ctprofctl." },
        { SERVICE "InterfaceNotFound", "{\"interface\":\"a\"}", NULL, NULL, 1,
          "This ctprofd does not know \"a\": it is older than ctprofctl." },
        { SERVICE "MethodNotImplemented", "{\"method\":\"a.B\"}", NULL, NULL, 1,
          "This ctprofd does not know \"a.B\": it is older than ctprofctl." },
        { SERVICE "ExpectedMore", "{}", "a", NULL, 1, "ctprofd refused with the error \"a\"." },
        { "com.example.New", "{\"name\":\"x\"}", "a", NULL, 1,
          "ctprofd refused with the error \"com.example.New\"." },
        { PROFILER "NoSuchSnapshot", "{\"name\":\"\\u001b[2J\"}", NULL, NULL, 1,
          "There is no snapshot \"\\x1b[2J\": \"ctprofctl list\" shows all names." },
        { PROFILER "NoSuchSnapshot", "{\"name\":5,\"nearest\":[]}", "typed", NULL, 1,
          "There is no snapshot \"typed\": \"ctprofctl list\" shows all names." },
};

START_TEST(every_error_is_a_sentence_with_a_way_out) {
        const WireTopic topic = { .subject = rows[_i].subject, .taken_hint = rows[_i].taken_hint };
        Reply reply = { .error = strdup(rows[_i].error),
                        .parameters = json_tokener_parse(rows[_i].parameters) };
        _cleanup_(buffer_done) Buffer sentence = {};
        const char *text;
        int status = 77;

        ck_assert_int_eq(wire_complaint_format(&reply, &topic, &sentence, &status), 0);
        ck_assert_int_eq(buffer_terminate(&sentence, &text), 0);
        ck_assert_str_eq(text, rows[_i].sentence);
        ck_assert_int_eq(status, rows[_i].status);
        reply_done(&reply);
}
END_TEST

/* The users of another host are not those of this one. */
START_TEST(a_user_of_another_host_is_a_number) {
        static const WireTopic topic = { .is_elsewhere = true };
        Reply reply = { .error = strdup(PROFILER "RecordingRuns"),
                        .parameters = json_tokener_parse("{\"uid\":0}") };
        _cleanup_(buffer_done) Buffer sentence = {};
        const char *text;
        int status = 77;

        ck_assert_int_eq(wire_complaint_format(&reply, &topic, &sentence, &status), 0);
        ck_assert_int_eq(buffer_terminate(&sentence, &text), 0);
        ck_assert_ptr_nonnull(strstr(text, "at a time: uid 0 has recorded"));
        reply_done(&reply);
}
END_TEST

/* Accents take no column each: all of a text of them would fit into one. */
START_TEST(a_reason_without_width_has_a_bound) {
        char accents[2 * 1024 + 1] = "", quoted[QUOTE_BYTES];

        for (size_t i = 0; i < sizeof(accents) - 1; i += 2)
                memcpy(&accents[i], "\u0301", 2);
        (void) quote(accents, quoted);
        ck_assert_uint_lt(strlen(quoted), QUOTE_BYTES);
        ck_assert_ptr_nonnull(strstr(quoted, "\u0301\u2026\""));
}
END_TEST

START_TEST(no_error_of_the_interface_is_without_words) {
        static const WireTopic topic = { .subject = "x" };

        for (unsigned id = 0; id < _WIRE_ERROR_MAX; id++) {
                Reply reply = { .error = strdup(wire_error_names[(WireError) id]),
                                .parameters = json_object_new_object() };
                _cleanup_(buffer_done) Buffer sentence = {};
                int status = 77;

                ck_assert_int_eq(wire_complaint_format(&reply, &topic, &sentence, &status), 0);
                ck_assert(status == STATUS_FAILED || status == STATUS_USAGE);
                ck_assert_int_ge(sentence.bytes[sentence.n - 1] == '.' ||
                                         sentence.bytes[sentence.n - 1] == '?',
                                 1);
                reply_done(&reply);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("wire-complaint");
        TCase *format = tcase_create("format");

        (void) setenv("TZ", "UTC", 1);
        (void) setlocale(LC_CTYPE, "C.UTF-8");
        tcase_add_loop_test(format, every_error_is_a_sentence_with_a_way_out, 0, ELEMENTSOF(rows));
        tcase_add_test(format, a_user_of_another_host_is_a_number);
        tcase_add_test(format, a_reason_without_width_has_a_bound);
        tcase_add_test(format, no_error_of_the_interface_is_without_words);
        suite_add_tcase(suite, format);
        return check_main(suite);
}
