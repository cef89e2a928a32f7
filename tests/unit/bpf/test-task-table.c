/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>

#include "kernel/bpf/task-table.h"

static Buffer records;
static TaskTable *table;

static void setup(void) {
        buffer_init(&records, 0);
        table = NULL;
}

static void teardown(void) {
        buffer_done(&records);
        table = task_table_free(table);
}

/* Adds a record with @parts, whose first words say whose they are. */
static TaskRecord *add(unsigned tgid, unsigned tid, unsigned parts, size_t n_affinity_words) {
        size_t at = records.n;
        TaskRecord record = { .tid = tid, .tgid = tgid, .parts = parts, .run_time_ns = tid };
        TaskMemory memory = { .vm = tid + 1 };
        TaskDelays delays = { .kinds[TASK_DELAY_IRQ].min_ns = tid + 2 };
        TaskSchedstats stats = { .wait_max = tid + 3 };
        TaskWaits waits = { .n_other = tid + 4 };
        TaskReasons reasons = { .sums.n[WAIT_REASON_sync] = tid + 5 };
        TaskMark mark = { .mark.generation = tid + 5 };

        (void) buffer_append(&records, &record, sizeof(record));
        for (uint64_t i = 0; i < n_affinity_words; i++)
                (void) buffer_append(&records, &i, sizeof(i));
        if (parts & TASK_PART_MEMORY)
                (void) buffer_append(&records, &memory, sizeof(memory));
        if (parts & TASK_PART_DELAYS)
                (void) buffer_append(&records, &delays, sizeof(delays));
        if (parts & TASK_PART_SCHEDSTATS)
                (void) buffer_append(&records, &stats, sizeof(stats));
        if (parts & TASK_PART_WAITS)
                (void) buffer_append(&records, &waits, sizeof(waits));
        if (parts & TASK_PART_REASONS)
                (void) buffer_append(&records, &reasons, sizeof(reasons));
        if (parts & TASK_PART_MARK)
                (void) buffer_append(&records, &mark, sizeof(mark));
        ck_assert_int_eq(buffer_failure(&records), 0);
        ((TaskRecord *) (void *) (records.bytes + at))->n_bytes = (unsigned) (records.n - at);
        return (TaskRecord *) (void *) (records.bytes + at);
}

START_TEST(each_part_is_found) {
        unsigned parts = (unsigned) _i;
        size_t n_words = parts & TASK_PART_AFFINITY ? 1 + parts % 3 : 0;
        Task task;

        add(7, 7, parts, n_words);
        add(7, 8, 0, 0);
        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        ck_assert_uint_eq(records.n, 0);
        ck_assert_uint_eq(task_table_count(table), 2);

        task = task_table_get(table, 0);
        ck_assert_uint_eq(task.record->run_time_ns, 7);
        ck_assert_uint_eq(task.n_affinity_words, n_words);
        ck_assert(!task.affinity == !n_words);
        for (size_t i = 0; i < n_words; i++)
                ck_assert_uint_eq(task.affinity[i], i);
        ck_assert(!task.memory == !(parts & TASK_PART_MEMORY));
        ck_assert(!task.memory || task.memory->vm == 8);
        ck_assert(!task.delays == !(parts & TASK_PART_DELAYS));
        ck_assert(!task.delays || task.delays->kinds[TASK_DELAY_IRQ].min_ns == 9);
        ck_assert(!task.schedstats == !(parts & TASK_PART_SCHEDSTATS));
        ck_assert(!task.schedstats || task.schedstats->wait_max == 10);
        ck_assert(!task.waits == !(parts & TASK_PART_WAITS));
        ck_assert(!task.waits || task.waits->n_other == 11);
        ck_assert(!task.reasons == !(parts & TASK_PART_REASONS));
        ck_assert(!task.reasons || task.reasons->sums.n[WAIT_REASON_sync] == 12);
        ck_assert(!task.mark == !(parts & TASK_PART_MARK));
        ck_assert(!task.mark || task.mark->mark.generation == 12);

        task = task_table_get(table, 1);
        ck_assert_uint_eq(task.record->run_time_ns, 8);
        ck_assert(!task.affinity && !task.memory && !task.delays && !task.schedstats &&
                  !task.waits && !task.reasons && !task.mark);
}
END_TEST

START_TEST(one_that_is_alive_after_all_is_dead_no_more) {
        add(7, 7, 0, 0)->has = TASK_IS_DEAD | TASK_HAS_IO_CALLS;
        add(7, 8, 0, 0)->has = TASK_IS_DEAD;
        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        task_table_set_exited(table, 0, false);
        ck_assert_uint_eq(task_table_get(table, 0).record->has, TASK_HAS_IO_CALLS);
        ck_assert_uint_eq(task_table_get(table, 1).record->has, TASK_IS_DEAD);
}
END_TEST

/* The kernel goes by thread number, whatever the process. */
START_TEST(threads_are_grouped_by_process) {
        static const struct {
                unsigned tgid, tid;
        } sorted[] = { { 1, 1 }, { 2, 2 }, { 2, 40 }, { 5, 5 }, { 5, 6 }, { 5, 30 }, { 9, 3 } };

        add(1, 1, 0, 0);
        add(2, 2, TASK_PART_MEMORY, 0);
        add(9, 3, TASK_PART_DELAYS, 0);
        add(5, 5, 0, 0);
        add(5, 6, TASK_PARTS, 4);
        add(5, 30, 0, 0);
        add(2, 40, 0, 0);
        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        ck_assert_uint_eq(task_table_count(table), ELEMENTSOF(sorted));
        for (size_t i = 0; i < ELEMENTSOF(sorted); i++) {
                ck_assert_uint_eq(task_table_get(table, i).record->tgid, sorted[i].tgid);
                ck_assert_uint_eq(task_table_get(table, i).record->tid, sorted[i].tid);
                ck_assert_uint_eq(
                        task_table_search(table, (pid_t) sorted[i].tgid, (pid_t) sorted[i].tid), i);
        }
        /* What is not there is where it would be. */
        ck_assert_uint_eq(task_table_search(table, 0, 0), 0);
        ck_assert_uint_eq(task_table_search(table, 2, 3), 2);
        ck_assert_uint_eq(task_table_search(table, 5, 0), 3);
        ck_assert_uint_eq(task_table_search(table, 9, 4), ELEMENTSOF(sorted));
        ck_assert_uint_eq(task_table_search(table, INT32_MAX, INT32_MAX), ELEMENTSOF(sorted));
}
END_TEST

START_TEST(a_large_host_fits) {
        for (unsigned i = 0; i < 5000; i++)
                add(1 + i / 10, 5001 - i, i % 64, i % 2);
        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        ck_assert_uint_eq(task_table_count(table), 5000);
        for (size_t i = 1; i < 5000; i++) {
                const TaskRecord *before = task_table_get(table, i - 1).record;
                const TaskRecord *record = task_table_get(table, i).record;

                ck_assert(record->tgid > before->tgid ||
                          (record->tgid == before->tgid && record->tid > before->tid));
        }
}
END_TEST

START_TEST(a_host_without_threads_is_empty) {
        ck_assert_int_eq(task_table_parse(&records, &table), 0);
        ck_assert_uint_eq(task_table_count(table), 0);
}
END_TEST

/* bytes that no program of ours writes */

START_TEST(a_record_that_is_cut_is_refused) {
        size_t n_first, n_whole;

        add(1, 1, TASK_PARTS, 2);
        n_first = records.n;
        add(1, 2, TASK_PARTS, 2);
        n_whole = records.n;
        for (size_t n = 1; n < n_whole; n++) {
                Buffer part = {};

                ck_assert_int_eq(buffer_append(&part, records.bytes, n), 0);
                ck_assert_int_eq(task_table_parse(&part, &table), n == n_first ? 0 : -EBADMSG);
                table = task_table_free(table);
                buffer_done(&part);
        }
}
END_TEST

static void spoil(TaskRecord *record, int which) {
        switch (which) {
        case 0:
                record->tid = 0;
                break;
        case 1:
                record->tgid = 0x80000000u;
                break;
        case 2:
                record->parts |= TASK_PARTS + 1;
                break;
        case 3:
                record->n_bytes = 0;
                break;
        case 4:
                record->n_bytes -= 4;
                break;
        case 5:
                record->n_bytes = UINT32_MAX;
                break;
        case 6: /* bytes that belong to no part */
                record->parts &= ~(unsigned) TASK_PART_AFFINITY;
                break;
        default: /* a part that has no room */
                record->parts |= TASK_PART_SCHEDSTATS;
        }
}

START_TEST(a_wrong_record_is_refused) {
        spoil(add(1, 1, TASK_PART_AFFINITY | TASK_PART_DELAYS, 2), _i);
        ck_assert_int_eq(task_table_parse(&records, &table), -EBADMSG);
        ck_assert_ptr_null(table);
}
END_TEST

START_TEST(a_descriptor_of_something_else_is_an_error) {
        ck_assert_int_lt(task_table_read(STDIN_FILENO, &table), 0);
        ck_assert_int_lt(task_table_read(-EBADF, &table), 0);
        ck_assert_ptr_null(table);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("task-table");
        TCase *tcase = tcase_create("records");

        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_loop_test(tcase, each_part_is_found, 0, TASK_PARTS + 1);
        tcase_add_test(tcase, one_that_is_alive_after_all_is_dead_no_more);
        tcase_add_test(tcase, threads_are_grouped_by_process);
        tcase_add_test(tcase, a_large_host_fits);
        tcase_add_test(tcase, a_host_without_threads_is_empty);
        tcase_add_test(tcase, a_record_that_is_cut_is_refused);
        tcase_add_loop_test(tcase, a_wrong_record_is_refused, 0, 8);
        tcase_add_test(tcase, a_descriptor_of_something_else_is_an_error);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
