/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "record/stack-table.h"

START_TEST(what_is_the_same_is_there_once) {
        StackTable table = {};
        uint32_t first, second, frames[2], stacks[3];

        ck_assert_int_eq(stack_table_add_frame(&table, 1, 5, SPAN_LITERAL("name"), &first), 0);
        ck_assert_int_eq(stack_table_add_frame(&table, 1, 5, SPAN_LITERAL("name"), &second), 0);
        ck_assert_uint_eq(first, second);
        ck_assert_int_eq(stack_table_add_frame(&table, 2, 5, SPAN_LITERAL("name"), &second), 0);
        ck_assert_uint_ne(first, second);
        frames[0] = first;
        frames[1] = second;
        ck_assert_int_eq(stack_table_add_stack(&table, frames, 2, &stacks[0]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, frames, 1, &stacks[1]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, frames, 2, &stacks[2]), 0);
        ck_assert_uint_eq(stacks[0], stacks[2]);
        ck_assert_uint_ne(stacks[0], stacks[1]);
        ck_assert_uint_eq(table.n_stacks, 2);
        ck_assert_int_eq(stack_table_add_stack(&table, NULL, 0, &stacks[0]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, frames, 0, &stacks[1]), 0);
        ck_assert_uint_eq(stacks[0], stacks[1]);
        stack_table_done(&table);
}
END_TEST

/* The last thread that has a tid has the name that it had last. */
START_TEST(threads_keep_their_last_name) {
        StackThread thread = { .start_boottime_ns = 1, .tid = 2, .tgid = 3, .comm = "first" };
        StackTable table = {};
        uint32_t first, second, other;

        ck_assert_int_eq(stack_table_add_thread(&table, &thread, &first), 0);
        memcpy(thread.comm, "second", 7);
        ck_assert_int_eq(stack_table_add_thread(&table, &thread, &second), 0);
        ck_assert_uint_eq(first, second);
        ck_assert_str_eq(table.threads[first].comm, "second");
        thread.start_boottime_ns = 9; /* another one with that number */
        ck_assert_int_eq(stack_table_add_thread(&table, &thread, &other), 0);
        ck_assert_uint_ne(first, other);
        stack_table_done(&table);
}
END_TEST

/* Past the ceiling the time of samples stays, and what is known already is still found. */
START_TEST(there_is_a_ceiling) {
        StackSampleKey key = { .place = 1 };
        StackTable table = {};
        uint32_t frames[2], number;

        for (uint32_t i = 0; i < 1024; i++)
                ck_assert_int_eq(stack_table_add_frame(&table, 1, i, (Span){}, &number), 0);
        for (uint32_t i = 0; i < STACK_TABLE_MAX_STACKS; i++) {
                frames[0] = i / 1024;
                frames[1] = i % 1024;
                ck_assert_int_eq(stack_table_add_stack(&table, frames, 2, &number), 0);
                ck_assert_uint_eq(number, i);
        }
        ck_assert_uint_eq(table.n_overflow, 0);
        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(stack_table_add_stack(&table, frames, 1, &key.stack), 0);
                ck_assert_uint_eq(key.stack, STACK_NONE);
                ck_assert_int_eq(stack_table_add_sample(&table, &key, 5, 5), 0);
        }
        ck_assert_uint_eq(table.n_overflow, 3);
        ck_assert_uint_eq(table.n_samples, 1);
        ck_assert_uint_eq(table.samples[0].long_ns, 15);
        ck_assert_int_eq(stack_table_add_stack(&table, frames, 2, &number), 0);
        ck_assert_uint_eq(number, STACK_TABLE_MAX_STACKS - 1);
        ck_assert_uint_eq(table.n_stacks, STACK_TABLE_MAX_STACKS);
        stack_table_done(&table);
}
END_TEST

START_TEST(samples_are_added_by_their_weights) {
        const StackSampleKey key = { .thread = 1, .stack = 2, .place = 3 };
        StackTable table = {};
        const StackSample *sample;

        ck_assert_int_eq(stack_table_add_sample(&table, &key, 20000, 20000), 0); /* of the period */
        ck_assert_int_eq(stack_table_add_sample(&table, &key, 4000, 10000), 0);
        ck_assert_int_eq(stack_table_add_sample(&table, &key, 0, 10000), 0);
        sample = &table.samples[0];
        ck_assert_uint_eq(table.n_samples, 1);
        ck_assert(sample->long_ns == 20000 && sample->n_long == 1);
        ck_assert(sample->short_ns == 20000 && sample->n_short == 2);
        ck_assert_uint_eq(sample->short_variance_us2, 10 * 6 + 10 * 10);
        ck_assert_uint_eq(sample->max_ns, 20000);
        stack_table_done(&table);
}
END_TEST

START_TEST(a_stack_tells_so_many_objects_apart) {
        StackTable table = {};
        uint32_t object, again;
        char name[16];

        for (unsigned i = 0; i < STACK_OBJECTS_EACH + 3; i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                ck_assert_int_eq(
                        stack_table_add_object(&table, RECORD_OBJECT_FILE, span_of(name), &object),
                        0);
                ck_assert_uint_eq(object, i + 1);
                ck_assert_int_eq(stack_table_place_object(&table, 5, &object), 0);
                ck_assert_uint_eq(object, i < STACK_OBJECTS_EACH ? i + 1 : STACK_OBJECT_OTHERS);
        }
        ck_assert_uint_eq(table.n_objects, STACK_OBJECTS_EACH + 3);
        /* The same name of another kind is another one; another stack has room. */
        ck_assert_int_eq(
                stack_table_add_object(&table, RECORD_OBJECT_FUTEX, SPAN_LITERAL("0"), &again), 0);
        ck_assert_uint_eq(again, STACK_OBJECTS_EACH + 4);
        ck_assert_int_eq(stack_table_place_object(&table, 4, &again), 0);
        ck_assert_uint_eq(again, STACK_OBJECTS_EACH + 4);
        object = 1;
        ck_assert_int_eq(stack_table_place_object(&table, 5, &object), 0);
        ck_assert_uint_eq(object, 1);
        ck_assert_int_eq(stack_table_place_object(&table, STACK_NONE, &object), 0);
        ck_assert_uint_eq(object, 1);
        stack_table_done(&table);
}
END_TEST

START_TEST(what_is_told_of_objects_takes_memory) {
        enum { STACKS = 1000 };
        StackTable table = {};
        uint32_t object;
        size_t n_before;
        char name[16];

        for (unsigned i = 0; i < STACK_OBJECTS_EACH; i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                ck_assert_int_eq(
                        stack_table_add_object(&table, RECORD_OBJECT_FILE, span_of(name), &object),
                        0);
        }
        n_before = stack_table_bytes(&table);
        ck_assert_uint_ge(n_before, STACK_OBJECTS_EACH * sizeof(StackObject));
        for (uint32_t stack = 0; stack < STACKS; stack++)
                for (object = 1; object <= STACK_OBJECTS_EACH; object++)
                        ck_assert_int_eq(stack_table_place_object(&table, stack, &object), 0);
        ck_assert_uint_eq(table.n_pairs, STACKS * STACK_OBJECTS_EACH);
        ck_assert_uint_ge(stack_table_bytes(&table) - n_before,
                          table.n_pairs * (2 * sizeof(uint32_t) + sizeof(IndexSlot)) + STACKS);
        stack_table_done(&table);
}
END_TEST

START_TEST(there_is_room_for_so_many_objects) {
        StackTable table = {};
        uint32_t object;
        char name[16];

        for (unsigned i = 0; i <= STACK_MAX_OBJECTS; i++) {
                (void) snprintf(name, sizeof(name), "%u", i);
                ck_assert_int_eq(
                        stack_table_add_object(&table, RECORD_OBJECT_FILE, span_of(name), &object),
                        0);
                ck_assert_uint_eq(object, i < STACK_MAX_OBJECTS ? i + 1 : STACK_OBJECT_OTHERS);
        }
        ck_assert_int_eq(
                stack_table_add_object(&table, RECORD_OBJECT_FILE, SPAN_LITERAL("7"), &object), 0);
        ck_assert_uint_eq(object, 8);
        ck_assert_int_eq(
                stack_table_add_object(&table, RECORD_OBJECT_SOCKET, SPAN_LITERAL("7"), &object),
                0);
        ck_assert_uint_eq(object, STACK_OBJECT_OTHERS);
        ck_assert_uint_eq(table.n_objects, STACK_MAX_OBJECTS);
        stack_table_done(&table);
}
END_TEST

START_TEST(names_of_objects_have_a_bound) {
        static char path[4096];
        StackTable table = {};
        uint32_t object;

        memset(path, 'x', sizeof(path));
        for (unsigned i = 0; i <= STACK_OBJECTS_MAX_BYTES / sizeof(path); i++) {
                path[0] = (char) ('a' + i % 26);
                path[1] = (char) ('a' + i / 26 % 26);
                path[2] = (char) ('a' + i / 26 / 26);
                ck_assert_int_eq(stack_table_add_object(&table, RECORD_OBJECT_FILE,
                                                        (Span){ path, sizeof(path) }, &object),
                                 0);
                ck_assert_uint_eq(object, i < STACK_OBJECTS_MAX_BYTES / sizeof(path)
                                                  ? i + 1
                                                  : STACK_OBJECT_OTHERS);
        }
        ck_assert_int_eq(
                stack_table_add_object(&table, RECORD_OBJECT_FILE, SPAN_LITERAL("/"), &object), 0);
        ck_assert_uint_eq(object, STACK_OBJECT_OTHERS);
        stack_table_done(&table);
}
END_TEST

/* Two lines of one function become the function, and what was in both is in one. */
START_TEST(lines_are_folded) {
        const StackFrame lines[] = { { .module = 1, .offset = 5, .file = 1, .line = 7 },
                                     { .module = 1, .offset = 5, .file = 1, .line = 9 },
                                     { .module = STACK_KERNEL } };
        uint32_t frames[3], stacks[4];
        StackTable table = {};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                ck_assert_int_eq(stack_table_put_frame(&table, &lines[i], &frames[i]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, &frames[0], 1, &stacks[0]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, NULL, 0, &stacks[1]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, &frames[1], 1, &stacks[2]), 0);
        ck_assert_int_eq(stack_table_add_stack(&table, frames, 3, &stacks[3]), 0);
        for (size_t i = 0; i < ELEMENTSOF(stacks); i++) {
                const StackSampleKey keys[] = {
                        { .stack = stacks[i] },
                        { .stack = STACK_NONE,
                          .waker = STACK_WAKER_FIRST,
                          .waker_stack = stacks[i],
                          .held = 1,
                          .held_stack = stacks[i] },
                };

                for (size_t k = 0; k < ELEMENTSOF(keys); k++) {
                        ck_assert_int_eq(stack_table_add_sample(&table, &keys[k], 10 + i, 1), 0);
                        ck_assert_int_eq(stack_table_add_sample(&table, &keys[k], 0, 10000), 0);
                }
        }
        ck_assert_uint_eq(table.n_frames, 3);
        ck_assert_int_eq(stack_table_fold(&table), 0);
        ck_assert(table.n_frames == 3 && table.n_stacks == 4 && table.n_samples == 8);
        for (size_t i = 0; i < table.n_frames; i++)
                table.frames[i].file = table.frames[i].line = 0;
        ck_assert_int_eq(stack_table_fold(&table), 0);
        ck_assert(table.n_frames == 2 && table.n_stacks == 3 && table.n_samples == 6);
        ck_assert_uint_eq(table.samples[0].key.stack, 0);
        ck_assert(table.samples[0].long_ns == 22 && table.samples[0].n_long == 2);
        ck_assert(table.samples[0].short_ns == 20000 && table.samples[0].n_short == 2);
        ck_assert_uint_eq(table.samples[0].short_variance_us2, 200);
        ck_assert_uint_eq(table.samples[0].max_ns, 12);
        ck_assert_uint_eq(table.samples[1].key.stack, STACK_NONE);
        ck_assert(table.samples[1].key.waker_stack == 0 && table.samples[1].key.held_stack == 0);
        /* The last one has both lines, and a function of the kernel. */
        ck_assert_uint_eq(table.stacks[2] - table.stacks[1], 3);
        ck_assert_uint_eq(table.numbers[table.stacks[1]], table.numbers[table.stacks[1] + 1]);
        /* What is the same is found in its new place. */
        ck_assert_int_eq(stack_table_add_stack(&table, NULL, 0, &stacks[1]), 0);
        ck_assert(stacks[1] == 1 && table.n_stacks == 3);
        stack_table_done(&table);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("stack-table");
        TCase *tcase = tcase_create("stack-table");

        tcase_add_test(tcase, what_is_the_same_is_there_once);
        tcase_add_test(tcase, threads_keep_their_last_name);
        tcase_add_test(tcase, there_is_a_ceiling);
        tcase_add_test(tcase, samples_are_added_by_their_weights);
        tcase_add_test(tcase, a_stack_tells_so_many_objects_apart);
        tcase_add_test(tcase, what_is_told_of_objects_takes_memory);
        tcase_add_test(tcase, there_is_room_for_so_many_objects);
        tcase_add_test(tcase, names_of_objects_have_a_bound);
        tcase_add_test(tcase, lines_are_folded);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
