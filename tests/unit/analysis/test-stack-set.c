/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/stack-set.h"

#include <stdio.h>
#include <stdlib.h>

#include "check-main.h"

/* A recording of a second, in which each of @n processes ran for as many ns. */
static void take(StackSet *set, unsigned side, size_t n, uint64_t ns) {
        const RecordingDocument recording = {
                .facts = { .running = true, .end_boottime_ns = NSEC_PER_SEC },
        };
        StackView view = {};
        char name[32];

        view.rows = calloc(n, sizeof(*view.rows));
        ck_assert_ptr_nonnull(view.rows);
        for (size_t i = 0; i < n; i++) {
                int n_name = snprintf(name, sizeof(name), "p%zu", i);

                view.rows[i] = (StackRow){ .process = (uint32_t) view.labels.n,
                                           .place = RECORD_PLACE_running,
                                           .stack = STACK_NONE,
                                           .ns = ns };
                ck_assert_int_eq(buffer_append(&view.labels, name, (size_t) n_name + 1), 0);
        }
        view.n_rows = n;
        ck_assert_int_eq(stack_set_take(set, side, &view, &recording, 0), 0);
        stack_view_done(&view);
}

START_TEST(past_the_bound_time_is_of_others) {
        StackSet set = { .n_captures = 2, .alpha = 0.05 };
        Buffer text = { .max_bytes = 4096 };
        JsonWriter writer;

        take(&set, 0, STACK_SET_MAX_ROWS - 1, 5);
        ck_assert_uint_eq(set.n_overflow, 0);
        take(&set, 1, STACK_SET_MAX_ROWS + 99, 7);
        ck_assert_uint_eq(set.n_overflow, 99);
        ck_assert_uint_eq(set.n_rows, STACK_SET_MAX_ROWS + 1);
        ck_assert_int_eq(stack_set_finish(&set), 0);
        /* Most changed by 2 ns in a second, and all others together by 99 times 7. */
        json_writer_init(&writer, &text);
        stack_set_write(&set, 0, &writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_append_byte(&text, '\0'), 0);
        ck_assert_ptr_nonnull(strstr(text.bytes, "\"process\":\"[others]\",\"place\":\"running\""));
        ck_assert_ptr_nonnull(strstr(text.bytes, "\"frames\":[\"[too many stacks]\"]"));
        ck_assert_double_eq_tol(set.rows[0].change, 693e-9, 1e-12);
        buffer_done(&text);
        stack_set_done(&set);
}
END_TEST

/* What one side did not sample needs no more recordings of it; what it sampled once does. */
START_TEST(a_place_of_one_side_needs_no_more_samples) {
        RecordingDocument recording = {
                .facts = { .running = true, .end_boottime_ns = NSEC_PER_SEC },
        };
        StackRow row = { .place = RECORD_PLACE_running };
        const StackView view = { .rows = &row, .n_rows = 1, .labels = { .bytes = (char[]){ "" } } };
        StackSet set = { .n_captures = 4, .alpha = 0.05 };
        uint32_t frame;

        ck_assert_int_eq(
                stack_table_add_frame(&recording.table, STACK_KERNEL, 0, SPAN_LITERAL("f"), &frame),
                0);
        ck_assert_int_eq(stack_table_add_stack(&recording.table, &frame, 1, &row.stack), 0);
        for (unsigned i = 0; i < 4; i++) {
                recording.facts.running = i < 2 || (i == 2 && _i == 1);
                row.ns = (i + 1) * 100 * NSEC_PER_MSEC;
                ck_assert_int_eq(stack_set_take(&set, i / 2, &view, &recording,
                                                recording.facts.running
                                                        ? 0
                                                        : UINT64_C(1) << RECORD_PLACE_lock),
                                 0);
        }
        ck_assert_int_eq(stack_set_finish(&set), 0);
        ck_assert_uint_eq(set.n_rows, 1);
        ck_assert_uint_eq(set.family.n_tested, 0);
        ck_assert_uint_eq(set.family.n_needed, _i == 0 ? 0 : rank_test_enough(1, 0.05));
        recording_document_done(&recording);
        stack_set_done(&set);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("stack-set");
        TCase *bounds = tcase_create("bounds");
        TCase *tests = tcase_create("tests");

        tcase_add_test(bounds, past_the_bound_time_is_of_others);
        suite_add_tcase(suite, bounds);
        tcase_add_loop_test(tests, a_place_of_one_side_needs_no_more_samples, 0, 2);
        suite_add_tcase(suite, tests);
        return check_main(suite);
}
