/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "capture/heap/heap-failure.h"

START_TEST(names_are_distinct_and_in_the_manual) {
        char manual[256 * 1024], name[64];
        FILE *file = fopen(TESTS_DIR "/../man/snapshot.5", "r");
        size_t n;

        ck_assert_ptr_nonnull(file);
        n = fread(manual, 1, sizeof(manual) - 1, file);
        manual[n] = '\0';
        fclose(file);
        for (unsigned i = 0; i < _HEAP_FAILURE_MAX; i++) {
                const char *from = heap_failures[(HeapFailure) i].name;
                char *to = name;

                for (unsigned k = 0; k < i; k++)
                        ck_assert_str_ne(from, heap_failures[(HeapFailure) k].name);
                to += sprintf(to, "\n.B ");
                for (; *from; from++)
                        to += sprintf(to, *from == '-' ? "\\-" : "%c", *from);
                sprintf(to, "\n");
                ck_assert_msg(heap_failures[(HeapFailure) i].is_benign ||
                                      strstr(manual, name) != NULL,
                              "%s", heap_failures[(HeapFailure) i].name);
        }
}
END_TEST

START_TEST(a_file_has_nine_verdicts) {
        static const uint32_t verdicts[] = {
                HEAP_FAILURE_FILE_UNREADABLE,
                HEAP_FAILURE_ARCH_MISMATCH,
                HEAP_FAILURE_LAYOUT_UNKNOWN,
                HEAP_FAILURE_LAYOUT_CONFLICT,
                HEAP_FAILURE_TLS_POSITION_UNKNOWN,
                HEAP_FAILURE_TLS_MODEL_UNSUPPORTED,
                HEAP_FAILURE_COUNTERS_DISABLED,
                HEAP_FAILURE_NONE,
                HEAP_NOT_JEMALLOC,
        };
        size_t n = 0;

        for (uint32_t i = 0; i <= 2 * HEAP_NOT_SETTLED; i++) {
                bool is_one = n < ELEMENTSOF(verdicts) && verdicts[n] == i;

                ck_assert_msg(heap_verdict_is_of_file(i) == is_one, "%u", i);
                ck_assert(!is_one || i >= _HEAP_FAILURE_MAX ||
                          (!heap_failures[(HeapFailure) i].is_benign &&
                           !heap_failure_is_of_thread((HeapFailure) i)));
                n += is_one;
        }
        ck_assert_uint_eq(n, ELEMENTSOF(verdicts));
}
END_TEST

static const char *to_json(const HeapSummary *summary, Buffer *buffer) {
        JsonWriter writer;
        const char *text;

        buffer_clear(buffer);
        json_writer_init(&writer, buffer);
        heap_summary_write_json(&writer, summary);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(buffer, &text), 0);
        return text;
}

static const struct {
        HeapSummary summary;
        const char *json;
} json_rows[] = {
        { {},
          "{\"tgids_walked\":0,\"jemalloc_detected\":0,\"probed_ok\":0,\"failed\":0,"
          "\"dominant_failure\":null,\"privilege_dominant\":false,\"failures\":{}}" },
        /* What ends meanwhile is no failure. */
        { { .n_walked = 9,
            .n_detected = 2,
            .n_ok = 5,
            .failures = { [HEAP_FAILURE_PID_MISSING] = 3, [HEAP_FAILURE_THREAD_EXITED] = 4 } },
          "{\"tgids_walked\":9,\"jemalloc_detected\":2,\"probed_ok\":5,\"failed\":0,"
          "\"dominant_failure\":null,\"privilege_dominant\":false,\"failures\":{}}" },
        { { .failures = { [HEAP_FAILURE_PERMISSION] = 2, [HEAP_FAILURE_MAPS_READ] = 2 } },
          "{\"tgids_walked\":0,\"jemalloc_detected\":0,\"probed_ok\":0,\"failed\":4,"
          "\"dominant_failure\":\"maps-read-failure\",\"privilege_dominant\":true,"
          "\"failures\":{\"permission\":2,\"maps-read-failure\":2}}" },
        { { .failures = { [HEAP_FAILURE_PERMISSION] = 2,
                          [HEAP_FAILURE_TID_MISMATCH] = 3,
                          [HEAP_FAILURE_THREAD_EXITED] = 9 } },
          "{\"tgids_walked\":0,\"jemalloc_detected\":0,\"probed_ok\":0,\"failed\":5,"
          "\"dominant_failure\":\"tid-mismatch\",\"privilege_dominant\":false,"
          "\"failures\":{\"permission\":2,\"tid-mismatch\":3}}" },
};

START_TEST(a_summary_tells_the_most_frequent_failure) {
        _cleanup_(buffer_done) Buffer buffer = {};

        ck_assert_str_eq(to_json(&json_rows[_i].summary, &buffer), json_rows[_i].json);
}
END_TEST

START_TEST(summaries_of_workers_add_up) {
        _cleanup_(buffer_done) Buffer buffer = {};
        HeapSummary sum = json_rows[1].summary;

        heap_summary_merge(&sum, &json_rows[2].summary);
        heap_summary_merge(&sum, &json_rows[3].summary);
        ck_assert_uint_eq(sum.failures[HEAP_FAILURE_THREAD_EXITED], 13);
        ck_assert_str_eq(to_json(&sum, &buffer),
                         "{\"tgids_walked\":9,\"jemalloc_detected\":2,\"probed_ok\":5,\"failed\":9,"
                         "\"dominant_failure\":\"permission\",\"privilege_dominant\":false,"
                         "\"failures\":{\"permission\":4,\"maps-read-failure\":2,"
                         "\"tid-mismatch\":3}}");
}
END_TEST

START_TEST(a_failure_of_parts_is_one_of_a_process) {
        const HeapSummary part = { .parts = { [HEAP_FAILURE_PERMISSION] = 2,
                                              [HEAP_FAILURE_MAPS_READ] = 3,
                                              [HEAP_FAILURE_PID_MISSING] = 4 } };
        _cleanup_(buffer_done) Buffer buffer = {};
        HeapSummary sum = { .failures = { [HEAP_FAILURE_PERMISSION] = 5 } };

        heap_summary_merge(&sum, &part);
        heap_summary_merge(&sum, &part);
        ck_assert_ptr_nonnull(strstr(to_json(&sum, &buffer), "\"failed\":5,"));
        heap_summary_finish(&sum);
        ck_assert_str_eq(to_json(&sum, &buffer),
                         "{\"tgids_walked\":0,\"jemalloc_detected\":0,\"probed_ok\":0,\"failed\":6,"
                         "\"dominant_failure\":\"permission\",\"privilege_dominant\":true,"
                         "\"failures\":{\"permission\":5,\"maps-read-failure\":1}}");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("heap-failure");
        TCase *failures = tcase_create("failures"), *summary = tcase_create("summary");

        tcase_add_test(failures, names_are_distinct_and_in_the_manual);
        tcase_add_test(failures, a_file_has_nine_verdicts);
        suite_add_tcase(suite, failures);
        tcase_add_loop_test(summary, a_summary_tells_the_most_frequent_failure, 0,
                            ELEMENTSOF(json_rows));
        tcase_add_test(summary, summaries_of_workers_add_up);
        tcase_add_test(summary, a_failure_of_parts_is_one_of_a_process);
        suite_add_tcase(suite, summary);
        return check_main(suite);
}
