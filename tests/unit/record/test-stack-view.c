/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdlib.h>

#include "analysis/stack/stack-view.h"

#define PERIOD_NS 10000000u

static RecordingDocument recording;
static StackView view;
static uint32_t thread, stacks[3];
static bool by_waker;

static ThreadSample sample_of(uint32_t tid, uint64_t start_ticks, uint64_t lock_ns,
                              uint64_t running_ns) {
        ThreadSample sample;

        thread_sample_clear(&sample);
        sample.tid = (pid_t) tid;
        sample.tgid = 1;
        sample.start_ticks = start_ticks;
        sample.pcomm = SPAN_LITERAL("app");
        sample.comm = SPAN_LITERAL("worker");
        thread_sample_put(&sample, METRIC_lock_wait_ns, lock_ns);
        thread_sample_put(&sample, METRIC_run_time_ns, running_ns);
        return sample;
}

static void set_up(void) {
        const StackThread told = { .start_boottime_ns = 50 * 10000000ull + 3,
                                   .tid = 7,
                                   .tgid = 1,
                                   .comm = "worker",
                                   .process = "app" };
        uint32_t frame;

        recording = (RecordingDocument){};
        view = (StackView){};
        by_waker = false;
        for (unsigned i = 0; i < 3; i++) {
                const char name[] = { (char) ('a' + i), '\0' };

                ck_assert_int_eq(stack_table_add_frame(&recording.table, STACK_KERNEL, 0,
                                                       span_of(name), &frame),
                                 0);
                ck_assert_int_eq(stack_table_add_stack(&recording.table, &frame, 1, &stacks[i]), 0);
        }
        ck_assert_int_eq(stack_table_add_thread(&recording.table, &told, &thread), 0);
}

static void tear_down(void) {
        recording_document_done(&recording);
        stack_view_done(&view);
}

static void add(RecordPlace place, uint32_t stack, uint64_t ns, uint64_t weight_ns, unsigned n) {
        const StackSampleKey key = { .thread = thread, .stack = stack, .place = place };

        while (n-- > 0)
                ck_assert_int_eq(stack_table_add_sample(&recording.table, &key, ns, weight_ns), 0);
}

static void observe(uint64_t lock_ns, uint64_t running_ns) {
        ThreadSample begin = sample_of(7, 50, 1000, 2000);
        ThreadSample end = sample_of(7, 50, 1000 + lock_ns, 2000 + running_ns);

        ck_assert_int_eq(stack_view_add_begin(&view, &begin), 0);
        ck_assert_int_eq(stack_view_add_end(&view, &end), 0);
        ck_assert_int_eq(stack_view_divide(&view, &recording, 100, by_waker), 0);
}

static const StackRow *find(RecordPlace place, uint32_t stack) {
        for (size_t i = 0; i < view.n_rows; i++)
                if (view.rows[i].place == place && view.rows[i].stack == stack)
                        return &view.rows[i];
        return NULL;
}

/* What was taken whatever happened keeps its time; the others divide what is left. */
START_TEST(two_strata) {
        add(RECORD_PLACE_lock, stacks[0], 50000000, 50000000, 1);
        add(RECORD_PLACE_lock, stacks[1], 1000000, PERIOD_NS, 3);
        add(RECORD_PLACE_lock, stacks[2], 1000000, PERIOD_NS, 1);
        observe(90000001, 0);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns, 50000000);
        ck_assert(find(RECORD_PLACE_lock, stacks[0])->is_exact);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[1])->ns, 30000000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[2])->ns, 10000001);
        ck_assert(find(RECORD_PLACE_lock, stacks[2])->variance_ns2 > 0);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 90000001);
        ck_assert_uint_eq(view.rows[0].stack, stacks[0]);
        ck_assert_str_eq(stack_view_label(&view, view.rows[0].process), "app");
        ck_assert_str_eq(stack_view_label(&view, view.rows[0].comm), "worker");
}
END_TEST

/* Time without a sample is there all the same. */
START_TEST(unsampled) {
        add(RECORD_PLACE_lock, stacks[0], 50000000, 50000000, 1);
        observe(50000400, 300);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns, 50000000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, STACK_UNSAMPLED)->ns, 400);
        ck_assert_uint_eq(find(RECORD_PLACE_running, STACK_UNSAMPLED)->ns, 300);
        ck_assert_uint_eq(view.n_rows, 3);
}
END_TEST

/* The programs read their clock apart from the kernel's account, which is right. */
START_TEST(longer_than_exact) {
        add(RECORD_PLACE_lock, stacks[0], 30000001, 30000001, 1);
        add(RECORD_PLACE_lock, stacks[1], 20000002, 20000002, 1);
        observe(50000000, 0);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 50000000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns +
                                  find(RECORD_PLACE_lock, stacks[1])->ns,
                          50000000);
}
END_TEST

/* A thread is observed for longer than it is sampled: that time has a word of its own. */
START_TEST(outside) {
        recording.facts.start_boottime_ns = 1000;
        recording.facts.end_boottime_ns = 1000 + 60000000;
        add(RECORD_PLACE_lock, stacks[0], 50000000, 50000000, 1);
        observe(65000000, 1000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns, 50000000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, STACK_OUTSIDE)->ns, 5001000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, STACK_UNSAMPLED)->ns, 9999000);
        ck_assert_uint_eq(find(RECORD_PLACE_running, STACK_UNSAMPLED)->ns, 1000);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 65000000);
}
END_TEST

/* Where it is known how long a thread was sampled in a place, short samples divide that alone. */
START_TEST(outside_of_short_samples) {
        StackThread *sampled = &recording.table.threads[thread];

        recording.facts.start_boottime_ns = 1000;
        recording.facts.end_boottime_ns = 1000 + 60000000;
        sampled->has_times = true;
        sampled->ns[RECORD_PLACE_lock] = 58000000;
        sampled->ns[RECORD_PLACE_running] = 2000000;
        by_waker = _i == 1;
        add(RECORD_PLACE_lock, stacks[0], 50000000, 50000000, 1);
        add(RECORD_PLACE_lock, stacks[1], 1000000, PERIOD_NS, 1);
        observe(258000000, 2000100);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns, 50000000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[1])->ns, 8000000);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, STACK_OUTSIDE)->ns, 200000000);
        ck_assert(find(RECORD_PLACE_lock, STACK_OUTSIDE)->is_exact);
        ck_assert_ptr_null(find(RECORD_PLACE_lock, STACK_UNSAMPLED));
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 258000000);
        if (by_waker)
                return;
        ck_assert_uint_eq(find(RECORD_PLACE_running, STACK_OUTSIDE)->ns, 100);
        ck_assert_uint_eq(find(RECORD_PLACE_running, STACK_UNSAMPLED)->ns, 2000000);
}
END_TEST

#define PUT_NOTHING(reason, ...) thread_sample_put(&sample, METRIC_##reason##_wait_ns, 0);

/* One of which all times are known that a thread can have, but perhaps for storage. */
static ThreadSample whole_sample(bool has_storage) {
        ThreadSample sample = sample_of(7, 50, 0, 0);

        WAIT_REASONS_APART(PUT_NOTHING)
        thread_sample_put(&sample, METRIC_uninterruptible_ns, 0);
        thread_sample_put(&sample, METRIC_wait_time_ns, 0);
        if (has_storage)
                thread_sample_put(&sample, METRIC_storage_wait_ns, 0);
        return sample;
}

/* The sum may be off by 2 % of 600 ms, or by 10 ms of 60. */
START_TEST(times_that_add_up) {
        static const struct {
                uint64_t elapsed_ns, lock_ns;
                bool has_begin, has_storage;
                size_t n_throughout, n_adding_up;
        } rows[] = {
                { 600000000, 598000000, true, true, 1, 1 },
                { 600000000, 586000000, true, true, 1, 1 },
                { 600000000, 585999999, true, true, 1, 0 },
                { 600000000, 610000001, true, true, 1, 0 },
                { 600000000, 598000000, false, true, 0, 0 },
                { 600000000, 598000000, true, false, 0, 0 },
                { 60000000, 48000000, true, true, 1, 1 },
                { 60000000, 47999999, true, true, 1, 0 },
        };
        StackThread *sampled = &recording.table.threads[thread];
        ThreadSample sample = whole_sample(rows[_i].has_storage);

        recording.facts.start_boottime_ns = 1000;
        recording.facts.end_boottime_ns = 1000 + rows[_i].elapsed_ns;
        sampled->has_times = true;
        sampled->ns[RECORD_PLACE_lock] = rows[_i].lock_ns;
        sampled->ns[RECORD_PLACE_running] = 2000000;
        if (rows[_i].has_begin)
                ck_assert_int_eq(stack_view_add_begin(&view, &sample), 0);
        ck_assert_int_eq(stack_view_add_end(&view, &sample), 0);
        ck_assert_int_eq(stack_view_divide(&view, &recording, 100, false), 0);
        ck_assert_uint_eq(view.n_throughout, rows[_i].n_throughout);
        ck_assert_uint_eq(view.n_adding_up, rows[_i].n_adding_up);
}
END_TEST

/* Of a thread that had ended samples are all there is. */
START_TEST(ended) {
        ThreadSample begin = sample_of(7, 50, 1000, 2000);

        add(RECORD_PLACE_lock, stacks[0], 1000000, PERIOD_NS, 2);
        ck_assert_int_eq(stack_view_add_begin(&view, &begin), 0);
        ck_assert_int_eq(stack_view_divide(&view, &recording, 100, by_waker), 0);
        ck_assert_uint_eq(view.n_rows, 1);
        ck_assert_uint_eq(view.rows[0].ns, 2 * PERIOD_NS);
        ck_assert(!view.rows[0].is_exact);
}
END_TEST

/* One that executed another program meanwhile has that one's name. */
START_TEST(executed) {
        ThreadSample begin = sample_of(7, 50, 0, 0), end = sample_of(7, 50, 1000, 0);

        end.pcomm = end.comm = SPAN_LITERAL("next");
        add(RECORD_PLACE_lock, stacks[0], 1000, 1000, 1);
        ck_assert_int_eq(stack_view_add_begin(&view, &begin), 0);
        ck_assert_int_eq(stack_view_add_end(&view, &end), 0);
        ck_assert_int_eq(stack_view_divide(&view, &recording, 100, by_waker), 0);
        ck_assert_str_eq(stack_view_label(&view, view.rows[0].process), "next");
        ck_assert_str_eq(stack_view_label(&view, view.rows[0].comm), "next");
}
END_TEST

/* Another life of the same number is another thread. */
START_TEST(other_life) {
        ThreadSample end = sample_of(7, 60, 5000, 0);

        add(RECORD_PLACE_lock, stacks[0], 1000000, PERIOD_NS, 1);
        ck_assert_int_eq(stack_view_add_end(&view, &end), 0);
        ck_assert_int_eq(stack_view_divide(&view, &recording, 100, by_waker), 0);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns, PERIOD_NS);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, STACK_UNSAMPLED)->ns, 5000);
}
END_TEST

/* Threads that the filter does not take have no rows; those that it takes have all of theirs. */
START_TEST(filtered) {
        ThreadSample other = sample_of(8, 50, 1000, 2000), end = sample_of(8, 50, 9000, 3000);

        /* It woke others. */
        const StackThread waker = { .start_boottime_ns = 500000000, .tid = 8, .only_wakes = true };
        uint32_t number;

        recording.facts.scope.filter.is_on = 1;
        ck_assert_int_eq(stack_table_add_thread(&recording.table, &waker, &number), 0);
        ck_assert_int_eq(stack_view_add_begin(&view, &other), 0);
        ck_assert_int_eq(stack_view_add_end(&view, &end), 0);
        observe(50000400, 300);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, STACK_UNSAMPLED)->ns, 50000400);
        ck_assert_uint_eq(find(RECORD_PLACE_running, STACK_UNSAMPLED)->ns, 300);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 50000400);
        ck_assert_uint_eq(view.n_rows, 2);
}
END_TEST

/* Where waits of other lengths are left out, the time of all of them is not divided. */
START_TEST(of_a_length) {
        recording.facts.period_ns = PERIOD_NS;
        recording.facts.scope.min_ns = _i == 0 ? 1000000 : PERIOD_NS;
        add(RECORD_PLACE_lock, stacks[0], 50000000, 50000000, 1);
        if (_i == 0)
                add(RECORD_PLACE_lock, stacks[1], 2000000, PERIOD_NS, 1);
        observe(90000000, 300);
        ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[0])->ns, 50000000);
        /* All of those were taken, unless some are shorter than the period. */
        ck_assert_int_eq(find(RECORD_PLACE_lock, stacks[0])->is_exact, _i == 1);
        if (_i == 0)
                ck_assert_uint_eq(find(RECORD_PLACE_lock, stacks[1])->ns, PERIOD_NS);
        ck_assert_ptr_null(find(RECORD_PLACE_lock, STACK_UNSAMPLED));
        /* Running has no length. */
        ck_assert_uint_eq(find(RECORD_PLACE_running, STACK_UNSAMPLED)->ns, 300);
}
END_TEST

static void add_held(uint32_t stack, uint32_t waker, uint32_t held, uint64_t ns, unsigned n) {
        const StackSampleKey key = { .thread = thread,
                                     .stack = stack,
                                     .place = RECORD_PLACE_lock,
                                     .waker = waker,
                                     .waker_stack = waker >= STACK_WAKER_INTERRUPT ? stacks[2] : 0,
                                     .held = held,
                                     .held_stack = held > 0 ? stacks[1] : 0 };

        while (n-- > 0)
                ck_assert_int_eq(
                        stack_table_add_sample(&recording.table, &key, ns, MAX_OF(ns, PERIOD_NS)),
                        0);
}

static void add_woken(uint32_t stack, uint32_t waker, uint64_t ns, unsigned n) {
        add_held(stack, waker, 0, ns, n);
}

static void wake(void) {
        recording.facts.wakers = true;
        add(RECORD_PLACE_running, stacks[0], 1000, 1000, 1);
        add_woken(stacks[0], STACK_WAKER_FIRST + thread, 13000000, 1);
        add_held(stacks[0], STACK_WAKER_FIRST + thread, RECORD_PLACE_sleep + 1, 12000000, 1);
        add_held(stacks[0], STACK_WAKER_FIRST + thread, RECORD_PLACE_pipe + 1, 15000000, 1);
        add_woken(stacks[0], STACK_WAKER_INTERRUPT, 50000000, 1);
        add_woken(stacks[0], STACK_WAKER_FIRST + thread, 1000000, 2);
        add_woken(stacks[1], STACK_WAKER_LATER, 1000000, 1);
}

/* The same time as without them, and who ended most of it: 60 of 110 ms. */
START_TEST(stacks_with_wakers) {
        const StackRow *row;

        wake();
        observe(150000000, 1000);
        ck_assert_uint_eq(view.n_rows, 3);
        row = find(RECORD_PLACE_lock, stacks[0]);
        ck_assert_uint_eq(row->ns, 90000000 + 40000000);
        ck_assert_uint_eq(row->n_samples, 6);
        ck_assert_uint_eq(row->woken_by.kind, STACK_WAKER_FIRST);
        ck_assert_str_eq(stack_view_label(&view, row->woken_by.process), "app");
        ck_assert_str_eq(stack_view_label(&view, row->woken_by.comm), "worker");
        ck_assert_uint_eq(row->woken_ns, row->ns / 11 * 6 + row->ns % 11 * 6 / 11);
        /* Of those who told where it was, most. */
        ck_assert_uint_eq(row->woken_held, RECORD_PLACE_pipe + 1);
        ck_assert_uint_eq(row->woken_held_stack, stacks[1]);
        row = find(RECORD_PLACE_lock, stacks[1]);
        ck_assert_uint_eq(row->ns, 20000000);
        ck_assert_uint_eq(row->woken_by.kind, STACK_WAKER_LATER);
        ck_assert_uint_eq(row->woken_held, 0);
        ck_assert_uint_eq(row->woken_ns, row->ns);
        ck_assert_uint_eq(find(RECORD_PLACE_running, stacks[0])->woken_by.kind, STACK_WAKER_NONE);
}
END_TEST

/* An array of that size is made of memory that had something else in each of its elements. */
static void soil(size_t n_bytes) {
        void *blocks[7]; /* as many as the allocator keeps of one size for the same thread */

        for (size_t i = 0; i < ELEMENTSOF(blocks); i++) {
                volatile unsigned char *bytes = blocks[i] = malloc(n_bytes);

                ck_assert_ptr_nonnull(blocks[i]);
                for (size_t k = 0; k < n_bytes; k++)
                        bytes[k] = (unsigned char) (k * 7 + 1);
        }
        for (size_t i = 0; i < ELEMENTSOF(blocks); i++)
                free(blocks[i]);
}

/* Samples of one ending are counted together, however many there are: 30 ms against 20. */
START_TEST(endings_are_told_apart_by_who_and_where_alone) {
        StackSampleKey key = { .thread = thread,
                               .stack = stacks[0],
                               .place = RECORD_PLACE_lock,
                               .waker = STACK_WAKER_FIRST + thread,
                               .held = RECORD_PLACE_pipe + 1,
                               .held_stack = stacks[1] };
        const StackRow *row;

        recording.facts.wakers = true;
        for (key.object = 1; key.object <= 3; key.object++)
                ck_assert_int_eq(
                        stack_table_add_sample(&recording.table, &key, PERIOD_NS, PERIOD_NS), 0);
        key.held = RECORD_PLACE_sleep + 1;
        ck_assert_int_eq(
                stack_table_add_sample(&recording.table, &key, 2 * PERIOD_NS, 2 * PERIOD_NS), 0);
        /* So many bytes hold an ending for each of the four samples, and one more. */
        soil((4 + 1) * 40);
        observe(5 * PERIOD_NS, 0);
        row = find(RECORD_PLACE_lock, stacks[0]);
        ck_assert_uint_eq(row->woken_ns, 5 * PERIOD_NS);
        ck_assert_uint_eq(row->woken_held, RECORD_PLACE_pipe + 1);
}
END_TEST

static const StackRow *find_woken(uint32_t stack, uint32_t kind, uint32_t held) {
        for (size_t i = 0; i < view.n_rows; i++)
                if (view.rows[i].stack == stack && view.rows[i].waker.kind == kind &&
                    view.rows[i].held == held)
                        return &view.rows[i];
        return NULL;
}

/* By waker there is the time of waits alone, and all of it. */
START_TEST(time_by_waker) {
        const StackRow *row;

        wake();
        by_waker = true;
        observe(150000000, 1000);
        ck_assert_uint_eq(view.n_rows, 5);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 150000000);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_running], 0);
        row = find_woken(stacks[0], STACK_WAKER_FIRST, 0);
        ck_assert_uint_eq(row->ns, 13000000 + 40000000);
        ck_assert_uint_eq(row->waker_stack, stacks[2]);
        ck_assert(!row->is_exact && row->variance_ns2 > 0);
        row = find_woken(stacks[0], STACK_WAKER_FIRST, RECORD_PLACE_sleep + 1);
        ck_assert_uint_eq(row->ns, 12000000);
        ck_assert_uint_eq(row->held_stack, stacks[1]);
        row = find_woken(stacks[0], STACK_WAKER_INTERRUPT, 0);
        ck_assert_uint_eq(row->ns, 50000000);
        ck_assert(row->is_exact);
        ck_assert_uint_eq(find_woken(stacks[1], STACK_WAKER_LATER, 0)->ns, 20000000);
}
END_TEST

static void add_on(uint32_t stack, uint32_t object, uint64_t ns) {
        const StackSampleKey key = {
                .thread = thread, .stack = stack, .place = RECORD_PLACE_lock, .object = object
        };

        ck_assert_int_eq(stack_table_add_sample(&recording.table, &key, ns, MAX_OF(ns, PERIOD_NS)),
                         0);
}

/* What is not told keeps its part of the time, and the heaviest comes first. */
START_TEST(objects_share_the_time_of_a_row) {
        const StackRow *row;

        recording.facts.objects = true;
        add_on(stacks[0], 1, 20000000);
        add_on(stacks[0], 2, 50000000);
        add_on(stacks[0], STACK_OBJECT_OTHERS, 10000000);
        add_on(stacks[0], STACK_OBJECT_NONE, 20000000);
        add_on(stacks[1], 2, 1000000);
        observe(110000000, 0);
        row = find(RECORD_PLACE_lock, stacks[0]);
        ck_assert_uint_eq(row->ns, 100000000);
        ck_assert_uint_eq(row->n_samples, 4);
        ck_assert(row->is_exact);
        ck_assert_uint_eq(row->n_on, 3);
        ck_assert(view.on[row->first_on].object == 2 && view.on[row->first_on].ns == 50000000);
        ck_assert(view.on[row->first_on + 1].object == 1 &&
                  view.on[row->first_on + 1].ns == 20000000);
        ck_assert(view.on[row->first_on + 2].object == STACK_OBJECT_OTHERS &&
                  view.on[row->first_on + 2].ns == 10000000);
        row = find(RECORD_PLACE_lock, stacks[1]);
        ck_assert_uint_eq(row->n_on, 1);
        ck_assert_uint_eq(view.on[row->first_on].ns, 10000000);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], 110000000);
}
END_TEST

/* Nobody sees in the times and errors of wakers that samples were told apart. */
START_TEST(objects_leave_wakers_as_they_are) {
        StackRow row = {};

        for (int apart = 0; apart < 2; apart++) {
                recording.facts.objects = recording.facts.wakers = true;
                by_waker = true;
                for (uint32_t i = 0; i < 3; i++)
                        add_on(stacks[0], apart ? i : 1, 1000000);
                observe(40000000, 0);
                ck_assert_uint_eq(view.n_rows, 1);
                ck_assert_uint_eq(view.rows[0].n_on, 0);
                if (apart) {
                        ck_assert_uint_eq(view.rows[0].ns, row.ns);
                        ck_assert_uint_eq(view.rows[0].n_samples, row.n_samples);
                        ck_assert_uint_eq(view.rows[0].max_ns, row.max_ns);
                        ck_assert(view.rows[0].variance_ns2 >= row.variance_ns2 &&
                                  view.rows[0].variance_ns2 <= row.variance_ns2);
                        ck_assert_int_eq(view.rows[0].is_exact, row.is_exact);
                }
                row = view.rows[0];
                tear_down();
                set_up();
        }
}
END_TEST

/* Whatever the samples are, the rows of a thread add up to its time. */
START_TEST(adds_up) {
        unsigned seed = (unsigned) _i + 1;
        uint64_t exact = (uint64_t) rand_r(&seed) << (_i % 12);

        for (int i = rand_r(&seed) % 40; i > 0; i--) {
                uint64_t ns = (uint64_t) rand_r(&seed) % (3 * PERIOD_NS);

                add_woken(stacks[rand_r(&seed) % 3],
                          (uint32_t) rand_r(&seed) % (STACK_WAKER_FIRST + 1), ns, 1);
        }
        recording.table.threads[thread].has_times = _i % 2;
        recording.table.threads[thread].ns[RECORD_PLACE_lock] = (uint64_t) rand_r(&seed)
                                                                << (_i % 12);
        recording.facts.wakers = _i % 3 > 0;
        by_waker = _i % 3 == 2;
        observe(exact, 0);
        ck_assert_uint_eq(view.place_ns[RECORD_PLACE_lock], exact);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("stack-view");
        TCase *tcase = tcase_create("stack-view");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, two_strata);
        tcase_add_test(tcase, unsampled);
        tcase_add_test(tcase, longer_than_exact);
        tcase_add_test(tcase, outside);
        tcase_add_loop_test(tcase, outside_of_short_samples, 0, 2);
        tcase_add_loop_test(tcase, times_that_add_up, 0, 8);
        tcase_add_test(tcase, ended);
        tcase_add_test(tcase, executed);
        tcase_add_test(tcase, other_life);
        tcase_add_test(tcase, filtered);
        tcase_add_loop_test(tcase, of_a_length, 0, 2);
        tcase_add_test(tcase, stacks_with_wakers);
        tcase_add_test(tcase, endings_are_told_apart_by_who_and_where_alone);
        tcase_add_test(tcase, time_by_waker);
        tcase_add_test(tcase, objects_share_the_time_of_a_row);
        tcase_add_test(tcase, objects_leave_wakers_as_they_are);
        tcase_add_loop_test(tcase, adds_up, 0, 200);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
