/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/buffer.h"
#include "metric/record-place.h"
#include "record/course/steps.h"
#include "wire/limits.h"

#define MAIN_PID 100
#define CALLER_PID 200
#define EPOCH 7u

static Course course; /* that was told */
static Steps *steps;
static Buffer records;
static uint64_t now_ns;

static int take_group(void *userdata, const CourseGroup *group) {
        uint32_t number;
        size_t n_before = course.n_groups;
        int r = course_add_group(&course, group, &number);

        ck_assert_uint_eq(course.n_groups, n_before + 1);
        return r;
}

static int take_step(void *userdata, const CourseStep *step) {
        return course_add_step(&course, step);
}

static int take_cells(void *userdata, const CourseCell *cells, size_t n) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                r = course_add_cell(&course, &cells[i]);
        return r;
}

static void setup(void) {
        const StepsSink sink = { .group = take_group, .step = take_step, .cells = take_cells };

        course = (Course){};
        now_ns = 1000;
        ck_assert_int_eq(steps_new(&sink, MAIN_PID, CALLER_PID, &steps), 0);
}

static void teardown(void) {
        steps = steps_free(steps);
        course_done(&course);
        buffer_done(&records);
}

/* a thread; its parts are those of which something is there */
typedef struct Made {
        unsigned tgid, tid, ppid;
        const char *comm;
        uint64_t running, run_queue, lock, start;
        uint64_t lock_since, storage_since; /* of waits that go on; 0: none does */
        unsigned state;
        bool is_dead;
} Made;

static void add(const Made *made) {
        size_t at = records.n;
        TaskRecord record = {
                .tid = made->tid,
                .tgid = made->tgid,
                .ppid = made->ppid,
                .start_boottime_ns = made->start,
                .run_time_ns = made->running,
                .wait_time_ns = made->run_queue,
                .state = made->state,
                .seen_ns = now_ns,
                .has = TASK_HAS_RUN_DELAY | (made->is_dead ? TASK_IS_DEAD : 0u),
        };
        TaskWaits waits = { .since_ns = made->storage_since, .is_storage = 1 };
        TaskReasons reasons = { .epoch = EPOCH,
                                .since_ns = made->lock_since,
                                .reason = WAIT_REASON_lock,
                                .sums.ns[WAIT_REASON_lock] = made->lock };

        (void) snprintf(record.comm, sizeof(record.comm), "%s", made->comm ? made->comm : "");
        if (made->storage_since)
                record.parts |= TASK_PART_WAITS;
        if (made->lock || made->lock_since)
                record.parts |= TASK_PART_REASONS;
        (void) buffer_append(&records, &record, sizeof(record));
        if (record.parts & TASK_PART_WAITS)
                (void) buffer_append(&records, &waits, sizeof(waits));
        if (record.parts & TASK_PART_REASONS)
                (void) buffer_append(&records, &reasons, sizeof(reasons));
        ck_assert_int_eq(buffer_failure(&records), 0);
        ((TaskRecord *) (void *) (records.bytes + at))->n_bytes = (unsigned) (records.n - at);
}

static void begin(void) {
        steps_begin_reading(steps, &(SampledTerms){ EPOCH, true });
}

static void read_tasks(void) {
        TaskTable *table;

        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        ck_assert_int_eq(steps_add_tasks(steps, table), 0);
        task_table_free(table);
}

static void add_row(const char *process, uint64_t born_ns, uint64_t exits, uint64_t running,
                    unsigned flags) {
        LedgerKey key = { .flags = flags };
        LedgerValues values = { .born_ns = born_ns,
                                .exits = exits,
                                .sums[LEDGER_run_time_ns] = running };

        (void) snprintf(key.process, sizeof(key.process), "%s", process);
        (void) snprintf(key.thread, sizeof(key.thread), "%s", process);
        ck_assert_int_eq(steps_add_row(steps, &key, &values), 0);
}

static void end(void) {
        now_ns += 1000;
        ck_assert_int_eq(steps_end_reading(steps, now_ns), 0);
}

/* A whole reading of a few threads, and of a row of "work" if it has any exits. */
static void reading(const Made *made, size_t n, uint64_t exits, uint64_t running) {
        begin();
        for (size_t i = 0; i < n; i++)
                add(&made[i]);
        read_tasks();
        if (exits > 0)
                add_row("work", 5, exits, running, 0);
        end();
}

static uint64_t told(size_t step, const char *process, const char *comm, RecordPlace place) {
        for (size_t i = 0; i < course.n_cells; i++) {
                const CourseGroup *group = &course.groups[course.cells[i].group];

                if (course.cells[i].step == step && course.cells[i].place == place &&
                    strncmp(group->process, process, 16) == 0 &&
                    strncmp(group->comm, comm, 16) == 0)
                        return course.cells[i].ns;
        }
        return 0;
}

#define WORK(step, place) told(step, "work", "work", RECORD_PLACE_##place)

START_TEST(a_step_is_the_difference_of_accounts) {
        reading((const Made[]){ { 1, 1, .comm = "work", .running = 1000, .lock = 50 } }, 1, 0, 0);
        ck_assert_uint_eq(course.n_steps, 0);
        reading((const Made[]){ { 1, 1, .comm = "work", .running = 1300, .run_queue = 9,
                                  .lock = 70 },
                                { 1, 2, .comm = "helper", .running = 4, .start = 1500 } },
                2, 0, 0);
        reading((const Made[]){ { 1, 1, .comm = "work", .running = 1300, .run_queue = 9,
                                  .lock = 70 },
                                { 1, 2, .comm = "helper", .running = 4, .start = 1500 } },
                2, 0, 0);
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(course.n_steps, 2);
        ck_assert_uint_eq(course.steps[0].begin_boottime_ns, 2000);
        ck_assert_uint_eq(course.steps[0].end_boottime_ns, 3000);
        ck_assert_uint_eq(course.steps[0].n_threads, 2);
        ck_assert_uint_eq(WORK(0, running), 300);
        ck_assert_uint_eq(WORK(0, run_queue), 9);
        ck_assert_uint_eq(WORK(0, lock), 20);
        ck_assert_uint_eq(told(0, "work", "helper", RECORD_PLACE_running), 4);
        /* What is not there is not told: the second step has nothing. */
        ck_assert_uint_eq(course.n_cells, 4);
}
END_TEST

START_TEST(what_ended_did_is_what_its_row_has_more) {
        reading((const Made[]){ { 1, 1, .comm = "work", .running = 1000 } }, 1, 3, 500);
        /* It ran for 20 more, and one that nobody has seen for 6. */
        reading(NULL, 0, 5, 500 + 1020 + 6);
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(WORK(0, running), 26);
        ck_assert_uint_eq(course.steps[0].n_ended, 2);
        ck_assert_uint_eq(course.steps[0].n_threads, 0);
}
END_TEST

START_TEST(a_row_that_came_again_is_another_one) {
        begin();
        read_tasks();
        add_row("work", 5, 3, 500, 0);
        end();
        begin();
        read_tasks();
        add_row("work", 2500, 1, 40, 0);
        end();
        /* And one that a fold has taken away has done nothing. */
        begin();
        read_tasks();
        end();
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(WORK(0, running), 40);
        ck_assert_uint_eq(course.steps[0].n_ended, 1);
        ck_assert_uint_eq(course.n_cells, 1);
}
END_TEST

START_TEST(what_was_read_twice_is_taken_out_again) {
        const Made before = { 1, 1, .comm = "work", .running = 1000 },
                   after = { 1, 1, .comm = "work", .running = 1030 };

        reading(&before, 1, 0, 0);
        /* It ended between both halves of the reading: it is among the living, and in its row. */
        reading(&after, 1, 1, 1031);
        reading(NULL, 0, 1, 1031);
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(course.n_steps, 2);
        ck_assert_uint_eq(WORK(0, running), 31);
        ck_assert_uint_eq(WORK(1, running), 0);
}
END_TEST

START_TEST(what_is_too_much_is_not_forgotten) {
        const Made before = { 1, 1, .comm = "work", .running = 1000 },
                   other = { 2, 2, .comm = "work", .running = 0 },
                   later = { 2, 2, .comm = "work", .running = 1500 };

        /* Its row comes late: what the next step has more is less than what it owes. */
        reading((const Made[]){ before, other }, 2, 0, 0);
        reading(&other, 1, 0, 0);
        reading(&later, 1, 1, 1000);
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(WORK(0, running), 0);
        ck_assert_uint_eq(WORK(1, running), 1500);
}
END_TEST

START_TEST(waits_that_go_on_count) {
        Made made = { 1, 1, .comm = "work", .lock_since = 400, .state = 1 };

        now_ns = 1000;
        reading(&made, 1, 0, 0); /* seen at 1000 */
        reading(&made, 1, 0, 0); /* at 2000 */
        /* It runs, and the program missed that it was woken. */
        made.state = 0;
        reading(&made, 1, 0, 0);
        made = (Made){ 1, 1, .comm = "work", .storage_since = 3900, .state = 2 };
        reading(&made, 1, 0, 0); /* at 4000 */
        ck_assert_int_eq(steps_end(steps), 0);
        /* What was too much in the first step is taken out with the second. */
        ck_assert_uint_eq(course.n_steps, 3);
        ck_assert_uint_eq(WORK(0, lock), 0);
        ck_assert_uint_eq(WORK(2, storage), 100);
}
END_TEST

START_TEST(a_new_account_of_reasons_begins_anew) {
        const Made made = { 1, 1, .comm = "work", .lock = 800 };
        StepsFacts facts;

        steps_begin_reading(steps, &(SampledTerms){ EPOCH - 1, false });
        add(&made);
        read_tasks();
        end();
        begin();
        add(&made);
        read_tasks();
        end();
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(WORK(0, lock), 800);
        /* What was not counted all the time is no part of the course. */
        steps_get_facts(steps, &facts);
        ck_assert(!(facts.places >> RECORD_PLACE_storage & 1));
        ck_assert(facts.places >> RECORD_PLACE_lock & 1);
        ck_assert(facts.places >> RECORD_PLACE_run_queue & 1);
}
END_TEST

START_TEST(ctprof_is_not_in_it) {
        for (unsigned i = 1; i < 3; i++) {
                begin();
                add(&(Made){ MAIN_PID, MAIN_PID, .comm = "work", .running = 10 * i });
                add(&(Made){ 5, 5, .ppid = MAIN_PID, .comm = "work", .running = 10 * i });
                add(&(Made){ CALLER_PID, 6, .comm = "work", .running = 10 * i });
                add(&(Made){ 7, 7, .comm = "work", .running = 10 * i, .is_dead = true });
                read_tasks();
                add_row("work", 5, i, 10 * i, LEDGER_OF_SELF);
                end();
        }
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(course.n_steps, 1);
        ck_assert_uint_eq(course.n_cells, 0);
        ck_assert_uint_eq(course.steps[0].n_threads, 0);
}
END_TEST

START_TEST(too_many_groups_are_one) {
        char name[16];

        for (unsigned i = 0; i < 2; i++) {
                begin();
                for (unsigned tid = 1; tid < LIMIT_COURSE_GROUPS + 10; tid++) {
                        (void) snprintf(name, sizeof(name), "t%u", tid);
                        add(&(Made){ 1000 + tid, 1000 + tid, .comm = name, .running = i });
                }
                read_tasks();
                end();
        }
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(course.n_groups, LIMIT_COURSE_GROUPS + 1);
        ck_assert_uint_eq(told(0, "[other groups]", "[other groups]", RECORD_PLACE_running), 9);
        ck_assert_uint_eq(told(0, "t1", "t1", RECORD_PLACE_running), 1);
}
END_TEST

/* Threads begin, run and end at random: what all of them ran for is what the steps have. */
START_TEST(steps_add_up) {
        uint64_t exits = 1, ended_ns = 0, sum = 0, first_ns = 0, last_ns = 0, living = 0;
        Made threads[20] = {};
        unsigned seed = (unsigned) _i + 1;

        for (unsigned round = 0; round < 40; round++) {
                begin();
                living = 0;
                for (unsigned i = 0; i < ELEMENTSOF(threads); i++) {
                        Made *made = &threads[i];
                        unsigned what = (unsigned) rand_r(&seed) % 4;

                        if (made->tid && what == 0) {
                                ended_ns += made->running + (unsigned) rand_r(&seed) % 100;
                                exits++;
                                *made = (Made){};
                        } else if (!made->tid && what == 1) {
                                *made = (Made){ i + 1, i + 1, .comm = "work", .start = now_ns };
                        }
                        if (!made->tid)
                                continue;
                        made->running += (unsigned) rand_r(&seed) % 1000;
                        living += made->running;
                        add(made);
                }
                read_tasks();
                add_row("work", 5, exits, ended_ns, 0);
                end();
                last_ns = living + ended_ns;
                if (round == 0)
                        first_ns = last_ns;
        }
        ck_assert_int_eq(steps_end(steps), 0);
        ck_assert_uint_eq(course.n_steps, 39);
        for (size_t i = 0; i < course.n_cells; i++)
                sum += course.cells[i].ns;
        ck_assert_uint_eq(sum, last_ns - first_ns);
}
END_TEST

/* sampled times */

static TaskTable *table_of(const Made *made, size_t n) {
        TaskTable *table;

        for (size_t i = 0; i < n; i++)
                add(&made[i]);
        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        return table;
}

static SampledTime sampled[8];
static size_t n_sampled;

static int take_times(void *userdata, const SampledTime *all, size_t n) {
        memcpy(sampled, all, n * sizeof(*all));
        n_sampled = n;
        return *(int *) userdata;
}

/* One lives on, one ends, one takes over a number, one is new; with another account: nothing. */
START_TEST(sampled_times_are_the_difference_of_two_readings) {
        const Made before[] = { { 1, 1, .running = 1000, .lock = 50, .start = 3 },
                                { 1, 2, .running = 7, .start = 4 },
                                { 1, 3, .running = 500, .start = 5 } };
        const Made after[] = { { 1, 1, .running = 1300, .run_queue = 9, .lock = 50, .start = 3,
                                 .lock_since = 900, .state = 1 },
                               { 1, 2, .running = 9, .start = 4, .is_dead = true },
                               { 1, 3, .running = 20, .start = 6 },
                               { 2, 2, .running = 4, .start = 7 } };
        TaskTable *first = table_of(before, ELEMENTSOF(before)), *last;
        SampledTimes times = {};
        SampledTerms terms = { EPOCH, true };
        int failure = 0;

        n_sampled = 0;
        last = table_of(after, ELEMENTSOF(after));
        ck_assert_int_eq(sampled_times_end(&times, last, &terms, take_times, &failure), 0);
        ck_assert_uint_eq(n_sampled, 0); /* nothing was read before */
        ck_assert_int_eq(sampled_times_begin(&times, first, &terms), 0);
        ck_assert_int_eq(sampled_times_end(&times, last, &terms, take_times, &failure), 0);
        ck_assert_uint_eq(n_sampled, 3);
        ck_assert(sampled[0].tid == 1 && sampled[0].start_boottime_ns == 3);
        ck_assert_uint_eq(sampled[0].ns[RECORD_PLACE_running], 300);
        ck_assert_uint_eq(sampled[0].ns[RECORD_PLACE_run_queue], 9);
        ck_assert_uint_eq(sampled[0].ns[RECORD_PLACE_lock], now_ns - 900);
        ck_assert(sampled[1].tid == 3 && sampled[1].start_boottime_ns == 6);
        ck_assert_uint_eq(sampled[1].ns[RECORD_PLACE_running], 20);
        ck_assert(sampled[2].tgid == 2 && sampled[2].ns[RECORD_PLACE_running] == 4);
        failure = -EPIPE;
        ck_assert_int_eq(sampled_times_end(&times, last, &terms, take_times, &failure), -EPIPE);
        n_sampled = 0;
        terms.epoch++;
        ck_assert_int_eq(sampled_times_end(&times, last, &terms, take_times, &failure), 0);
        ck_assert_uint_eq(n_sampled, 0);
        sampled_times_done(&times);
        task_table_free(first);
        task_table_free(last);
}
END_TEST

static int count_times(void *userdata, const SampledTime *all, size_t n) {
        n_sampled += n;
        return *(int *) userdata;
}

/* More than are told at a time. */
START_TEST(sampled_times_of_many_threads) {
        SampledTimes times = {};
        const SampledTerms terms = { EPOCH, true };
        TaskTable *first = table_of(NULL, 0), *last;
        int failure = 0;

        for (unsigned i = 0; i < 256 + 3; i++)
                add(&(Made){ 1, i + 1, .running = i });
        last = table_of(NULL, 0);
        ck_assert_int_eq(sampled_times_begin(&times, first, &terms), 0);
        n_sampled = 0;
        failure = -EIO;
        ck_assert_int_eq(sampled_times_end(&times, last, &terms, count_times, &failure), -EIO);
        ck_assert_uint_eq(n_sampled, 256);
        failure = 0;
        n_sampled = 0;
        ck_assert_int_eq(sampled_times_end(&times, last, &terms, count_times, &failure), 0);
        ck_assert_uint_eq(n_sampled, 256 + 3);
        sampled_times_done(&times);
        task_table_free(first);
        task_table_free(last);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("steps");
        TCase *tcase = tcase_create("steps");

        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, a_step_is_the_difference_of_accounts);
        tcase_add_test(tcase, what_ended_did_is_what_its_row_has_more);
        tcase_add_test(tcase, a_row_that_came_again_is_another_one);
        tcase_add_test(tcase, what_was_read_twice_is_taken_out_again);
        tcase_add_test(tcase, what_is_too_much_is_not_forgotten);
        tcase_add_test(tcase, waits_that_go_on_count);
        tcase_add_test(tcase, a_new_account_of_reasons_begins_anew);
        tcase_add_test(tcase, ctprof_is_not_in_it);
        tcase_add_test(tcase, too_many_groups_are_one);
        tcase_add_loop_test(tcase, steps_add_up, 0, 10);
        tcase_add_test(tcase, sampled_times_are_the_difference_of_two_readings);
        tcase_add_test(tcase, sampled_times_of_many_threads);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
