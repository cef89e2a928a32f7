/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "analysis/group/group.h"
#include "colliding.h"
#include "thread.h"
#include "two-columns.h"

START_TEST(one_id_is_one_group) {
        GroupTable table = { .columns = &two_columns };
        Group *first, *again, *other, *empty;

        ck_assert_int_eq(group_table_obtain(&table, span_of("a"), &first), 0);
        ck_assert_int_eq(group_table_obtain(&table, span_of("b"), &other), 0);
        ck_assert_int_eq(group_table_obtain(&table, (Span){ NULL, 0 }, &empty), 0);
        ck_assert_int_eq(group_table_obtain(&table, span_of("a"), &again), 0);
        ck_assert_ptr_eq(first, again);
        ck_assert_ptr_ne(first, other);
        ck_assert_uint_eq(table.n_groups, 3);
        ck_assert(span_is(group_key(first), "a"));
        ck_assert_uint_eq(group_key(empty).n, 0);
        group_table_done(&table);
        ck_assert_uint_eq(table.n_groups, 0);
}
END_TEST

START_TEST(ids_whose_hashes_collide_are_two_groups) {
        GroupTable table = { .columns = &two_columns };
        Group *a, *b;

        ck_assert_colliding();
        ck_assert_int_eq(group_table_obtain(&table, COLLIDING_A, &a), 0);
        ck_assert_ptr_null(group_table_find(&table, COLLIDING_B));
        ck_assert_int_eq(group_table_obtain(&table, COLLIDING_B, &b), 0);
        ck_assert_ptr_ne(a, b);
        ck_assert_ptr_eq(group_table_find(&table, COLLIDING_A), a);
        ck_assert_ptr_eq(group_table_find(&table, COLLIDING_B), b);
        group_table_done(&table);
}
END_TEST

START_TEST(groups_stay_where_they_are_while_the_table_grows) {
        GroupTable table = { .columns = &two_columns };
        Group *groups[3000], *again;
        char id[16];

        for (unsigned i = 0; i < ELEMENTSOF(groups); i++) {
                (void) snprintf(id, sizeof(id), "g%u", i);
                ck_assert_int_eq(group_table_obtain(&table, span_of(id), &groups[i]), 0);
        }
        for (unsigned i = 0; i < ELEMENTSOF(groups); i++) {
                (void) snprintf(id, sizeof(id), "g%u", i);
                ck_assert_int_eq(group_table_obtain(&table, span_of(id), &again), 0);
                ck_assert_ptr_eq(again, groups[i]);
                ck_assert_ptr_eq(table.groups[i], groups[i]);
        }
        ck_assert_uint_eq(table.n_groups, ELEMENTSOF(groups));
        group_table_done(&table);
}
END_TEST

START_TEST(a_label_takes_the_place_of_the_id) {
        GroupTable table = { .columns = &two_columns };
        Group *group, *again;

        ck_assert_int_eq(group_table_obtain(&table, span_of("id"), &group), 0);
        ck_assert_int_eq(group_set_label(group, span_of("one")), 0);
        ck_assert_int_eq(group_set_label(group, span_of("one")), 0);
        ck_assert_int_eq(group_set_label(group, span_of("another")), 0);
        ck_assert(span_is(group_key(group), "another"));
        ck_assert_int_eq(group_table_obtain(&table, span_of("id"), &again), 0);
        ck_assert_ptr_eq(again, group);
        group_table_done(&table);
}
END_TEST

static const struct {
        pid_t before[3], after[3]; /* tids; 0: no further */
        bool survived;
} life_rows[] = {
        { { 1, 2, 3 }, { 3, 1, 2 }, true },
        { { 1 }, { 1 }, true },
        { { 1, 2 }, { 1 }, false },
        { { 1 }, { 1, 2 }, false },
        { { 1, 2 }, { 1, 3 }, false },
        { { 1 }, { 0 }, false },
        { { 0 }, { 1 }, false },
};

START_TEST(a_group_survives_with_its_lives) {
        GroupTable table = { .columns = &two_columns };
        Group *group;

        ck_assert_int_eq(group_table_obtain(&table, span_of("g"), &group), 0);
        for (unsigned i = 0; i < 3; i++) {
                ThreadSample before = thread_of("p", "t", life_rows[_i].before[i]);
                ThreadSample after = thread_of("p", "t", life_rows[_i].after[i]);

                if (before.tid != 0)
                        fold_into(group, 0, &before);
                if (after.tid != 0)
                        fold_into(group, 1, &after);
        }
        ck_assert(group_survived(group) == life_rows[_i].survived);
        group_table_done(&table);
}
END_TEST

START_TEST(a_tid_that_began_again_is_another_life) {
        ThreadSample before = thread_of("p", "t", 5), after = before;
        GroupTable table = { .columns = &two_columns };
        Group *group;

        after.start_ticks++;
        ck_assert_int_eq(group_table_obtain(&table, span_of("g"), &group), 0);
        fold_into(group, 0, &before);
        fold_into(group, 1, &after);
        ck_assert(!group_survived(group));
        group_table_done(&table);
}
END_TEST

START_TEST(adopted_threads_change_their_group) {
        GroupTable table = { .columns = &two_columns };
        ThreadSample sample = thread_of("p", "t", 1);
        Group *group, *from;

        ck_assert_ptr_null(group_table_find(&table, span_of("to")));
        ck_assert_int_eq(group_table_obtain(&table, span_of("to"), &group), 0);
        ck_assert_int_eq(group_table_obtain(&table, span_of("from"), &from), 0);
        ck_assert_uint_eq(group->index, 0);
        ck_assert_uint_eq(from->index, 1);
        fold_into(group, 0, &sample);
        fold_into(from, 1, &sample);
        ck_assert_int_eq(member_list_add(&from->members, span_of("t"), 1), 0);
        from->is_pattern = true;
        ck_assert_int_eq(group_adopt(group, 1, from), 0);
        ck_assert(group_is_empty(from));
        ck_assert(!group_is_empty(group));
        ck_assert(group->is_pattern);
        ck_assert_uint_eq(group->members.n_members, 1);
        ck_assert(group_survived(group)); /* lives move along */
        ck_assert_ptr_eq(group_table_find(&table, span_of("to")), group);
        group_table_done(&table);
}
END_TEST

/* One that only a ledger of exits told of had none of its own. */
START_TEST(adopted_threads_bring_their_work) {
        static const Columns one_interval = {
                .n = 1,
                .of = { { .setup = { .has_begin = true, .keeps_begin = true } } },
                .are_ends = true,
                .n_sides = 2,
                .sides = { { 0, SIDE_BEFORE }, { 0, SIDE_AFTER } },
        };
        GroupTable table = { .columns = &one_interval };
        ThreadSample sample = thread_of("p", "t", 1);
        Group *group, *from;

        ck_assert_int_eq(group_table_obtain(&table, span_of("to"), &group), 0);
        ck_assert_int_eq(group_table_obtain(&table, span_of("from"), &from), 0);
        ck_assert_int_eq(column_add(&one_interval.of[0], &from->of[0], NULL, &sample), 0);
        ck_assert_int_eq(group_adopt(group, 1, from), 0);
        ck_assert_ptr_nonnull(group->of[0].work);
        ck_assert_uint_eq(group->of[0].work->lives.born, 1);
        ck_assert_ptr_null(from->of[0].work);
        group_table_done(&table);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("group");
        TCase *table = tcase_create("table");
        TCase *lives = tcase_create("lives");

        tcase_add_test(table, adopted_threads_change_their_group);
        tcase_add_test(table, adopted_threads_bring_their_work);
        tcase_add_test(table, ids_whose_hashes_collide_are_two_groups);
        tcase_add_test(table, one_id_is_one_group);
        tcase_add_test(table, groups_stay_where_they_are_while_the_table_grows);
        tcase_add_test(table, a_label_takes_the_place_of_the_id);
        suite_add_tcase(suite, table);
        tcase_add_loop_test(lives, a_group_survives_with_its_lives, 0, ELEMENTSOF(life_rows));
        tcase_add_test(lives, a_tid_that_began_again_is_another_life);
        suite_add_tcase(suite, lives);
        return check_main(suite);
}
