/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-profile.h"

#include <check.h>
#include <string.h>

#include "check-main.h"
#include "stacks.h"

static const struct {
        const char *stack, *line;
} folded_rows[] = {
        { STACK("app", "running", "1500", "\"main\",\"f\""), "app;main;f;[running] 2\n" },
        { STACK("app", "lock", "1499", "\"main\",\"f\""), "app;main;f;[lock] 1\n" },
        { STACK("app", "lock", "500", ""), "app;[lock] 1\n" },
        { STACK("app", "lock", "499", "\"main\""), "" },
        { STACK("app", "lock", "18446744073709551615", "\"main\""),
          "app;main;[lock] 18446744073709552\n" },
        /* what would part frames, or move a cursor */
        { STACK("a;b", "lock", "1000", "\"x;y\",\"operator new\",\"n\\nl\",\"[libc+0x12]\""),
          "a,b;x,y;operator new;n\\x0al;[libc+0x12];[lock] 1\n" },
        { "{}", "" },
};

START_TEST(a_folded_line_is_a_stack) {
        json_object *stack = parsed(folded_rows[_i].stack);
        _cleanup_(buffer_done) Buffer line = {};
        StackStore store = {};

        ck_assert_int_eq(stack_store_add(&store, 0, stack), 0);
        ck_assert_int_eq(stack_append_folded(&line, &store, &store.rows[0], false), 0);
        ck_assert_msg(span_is(buffer_span(&line), folded_rows[_i].line), "%.*s", (int) line.n,
                      line.bytes);
        (void) json_object_put(stack);
        stack_store_done(&store);
}
END_TEST

/* Ten seconds, and five, in which as much was done. */
START_TEST(a_folded_line_of_two_has_both) {
        static const char *const lines[] = {
                "app;main;f;[lock] 1000000 3000000\n",
                "app;main;[lock] 500000 0\n",
                "app;g;[running] 0 250000\n",
                "app;h;[running] 100000 100000\n",
        };
        StackStore store = { .elapsed_ns = { 10000000000, 5000000000 } };

        fill_side(&store, 0,
                  "[" STACK("app", "lock", "2000000000", "\"main\",\"f\"") "," STACK(
                          "app", "lock", "1000000000",
                          "\"main\"") "," STACK("app", "running", "200000000", "\"h\"") "]");
        fill_side(&store, 1,
                  "[" STACK("app", "running", "100000000", "\"h\"") "," STACK_OF(
                          "app", "one", "lock", "1000000000", "0", "true",
                          "\"main\",\"f\"") "," STACK_OF("app", "two", "lock", "2000000000", "0",
                                                         "true",
                                                         "\"main\",\"f\"") ","
                                                                           "" STACK("app",
                                                                                    "running",
                                                                                    "250000000",
                                                                                    "\"g\"") "]");
        ck_assert_int_eq(stack_store_match(&store), 0);
        ck_assert_uint_eq(store.n, ELEMENTSOF(lines));
        for (size_t i = 0; i < store.n; i++) {
                _cleanup_(buffer_done) Buffer line = {};

                ck_assert_int_eq(stack_append_folded(&line, &store, &store.rows[i], false), 0);
                ck_assert_msg(span_is(buffer_span(&line), lines[i]), "%.*s", (int) line.n,
                              line.bytes);
        }
        stack_store_done(&store);
}
END_TEST

/* A mean over half of the time has half of the error as well. */
START_TEST(a_folded_line_may_have_errors) {
        static const char *const lines[] = {
                "app;f;[lock] 1500 500\n",
                "app;f;[lock] 750 250 4000 0\n",
        };
        static const uint64_t elapsed_ns[][2] = { { 10000000000 }, { 10000000000, 5000000000 } };
        StackStore store = {};
        json_object *sides[] = {
                parsed(STACK_OF("app", "one", "lock", "1500000", "500000", "false", "\"f\"")),
                parsed(STACK_OF("app", "one", "lock", "4000000", "0", "true", "\"f\"")),
        };

        for (unsigned i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_(buffer_done) Buffer line = {};

                memcpy(store.elapsed_ns, elapsed_ns[i], sizeof(store.elapsed_ns));
                ck_assert_int_eq(stack_store_add(&store, i, sides[i]), 0);
                if (i == 1)
                        ck_assert_int_eq(stack_store_match(&store), 0);
                ck_assert_int_eq(stack_append_folded(&line, &store, &store.rows[0], true), 0);
                ck_assert_msg(span_is(buffer_span(&line), lines[i]), "%.*s", (int) line.n,
                              line.bytes);
                (void) json_object_put(sides[i]);
        }
        stack_store_done(&store);
}
END_TEST

static const char speedscope[] =
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":\"r\","
        "\"exporter\":\"ctprofctl "
        "%s\",\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"f\"},"
        "{\"name\":\"g\\u001b\"},{\"name\":\"[running]\"},{\"name\":\"[lock]\"}]},\"profiles\":["
        "{\"type\":\"sampled\",\"name\":\"heavy\",\"unit\":\"microseconds\",\"startValue\":0,"
        "\"endValue\":9,\"samples\":[[0,1,3],[2,4]],\"weights\":[4,5]},"
        "{\"type\":\"sampled\",\"name\":\"light\",\"unit\":\"microseconds\",\"startValue\":0,"
        "\"endValue\":7,\"samples\":[[0,3]],\"weights\":[7]}]}\n";

START_TEST(a_profile_has_one_for_each_process) {
        json_object *title = json_object_new_string("r");
        const char *version, *rest = strstr(speedscope, "%s");
        StackStore store = {};
        Written written;
        JsonOut out;

        fill(&store,
             "[" STACK("light", "running", "7000", "\"main\"") "," STACK(
                     "heavy", "running", "4000",
                     "\"main\",\"f\"") "," STACK("heavy", "lock", "5000",
                                                 "\"g\\u001b\"") "," STACK("heavy", "lock", "400",
                                                                           "\"main\"") "]");
        written_begin(&written);
        json_out_init(&out, written.file, JSON_STYLE_SHORT);
        ck_assert_int_eq(stack_write_speedscope(&out, &store, title), 0);
        written_end(&written);
        /* Whatever the version is. */
        ck_assert_int_eq(strncmp(written.text, speedscope, (size_t) (rest - speedscope)), 0);
        version = written.text + (rest - speedscope);
        ck_assert_str_eq(version + strcspn(version, "\""), rest + 2);
        json_out_done(&out);
        free(written.text);
        (void) json_object_put(title);
        stack_store_done(&store);
}
END_TEST

START_TEST(stacks_that_begin_alike_come_together) {
        static const char *const order[] = { "b", "b", "b", "a" };
        static const uint64_t ns[] = { 2, 4, 3, 8 };
        StackStore store = {};

        fill(&store,
             "[" STACK("a", "lock", "8", "\"x\"") "," STACK(
                     "b", "lock", "4", "\"x\",\"y\"") "," STACK("b", "lock", "3",
                                                                "\"z\"") "," STACK("b", "lock", "2",
                                                                                   "\"x\"") "]");
        ck_assert_int_eq(stack_store_sort(&store), 0);
        for (size_t i = 0; i < ELEMENTSOF(order); i++) {
                ck_assert(span_is(name_set_get(&store.names, store.rows[i].process), order[i]));
                ck_assert_uint_eq(store.rows[i].of[0].ns, ns[i]);
        }
        stack_store_done(&store);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("stack-profile");
        TCase *write = tcase_create("write");

        tcase_add_loop_test(write, a_folded_line_is_a_stack, 0, ELEMENTSOF(folded_rows));
        tcase_add_test(write, a_folded_line_of_two_has_both);
        tcase_add_test(write, a_folded_line_may_have_errors);
        tcase_add_test(write, a_profile_has_one_for_each_process);
        tcase_add_test(write, stacks_that_begin_alike_come_together);
        suite_add_tcase(suite, write);
        return check_main(suite);
}
