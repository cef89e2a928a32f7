/* SPDX-License-Identifier: GPL-2.0-or-later */

/* How rows of the ledger are made fewer: whose, which of them, and what becomes of them. */

#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "kernel/bpf/ledger-rows.h"

#define MAX_ROWS 70000u
#define STRANGER 60001u

static LedgerRow rows[MAX_ROWS];
static size_t n_rows;
static LedgerCoarsening how;

static void setup(void) {
        n_rows = 0;
        how = (LedgerCoarsening){ .max_rows = 32768 };
}

static LedgerRow *add(uint32_t owner, uint64_t cgroup, uint64_t grew_ns, const char *thread) {
        LedgerRow *row = &rows[n_rows++];

        *row = (LedgerRow){
                .key = { .owner = owner, .cgroup = cgroup },
                .values = { .exits = 1, .lives_ns = 10, .born_ns = grew_ns, .grew_ns = grew_ns },
        };
        (void) snprintf(row->key.process, sizeof(row->key.process), "process");
        (void) snprintf(row->key.thread, sizeof(row->key.thread), "%s", thread);
        row->values.sums[LEDGER_run_time_ns] = 7;
        return row;
}

/* Names that have nothing in common. */
static void add_letters(uint32_t owner, uint64_t cgroup, unsigned n, uint64_t grew_ns) {
        for (unsigned i = 0; i < n; i++) {
                char name[TASK_COMM_BYTES] = "aaaa-";

                for (unsigned k = 0, left = i; k < 4; k++, left /= 26)
                        name[k] = (char) ('a' + left % 26);
                (void) add(owner, cgroup, grew_ns + i, name);
        }
}

static void add_numbers(uint32_t owner, uint64_t cgroup, unsigned n, uint64_t grew_ns) {
        for (unsigned i = 0; i < n; i++) {
                char name[TASK_COMM_BYTES];

                (void) snprintf(name, sizeof(name), "worker-%u", i);
                (void) add(owner, cgroup, grew_ns + i, name);
        }
}

/* Rows of one name whose parents have nothing in common. */
static void add_parents(uint32_t owner, const char *thread, unsigned n, uint64_t grew_ns) {
        for (unsigned i = 0; i < n; i++) {
                LedgerRow *row = add(owner, 1, grew_ns + i, thread);

                for (unsigned k = 0, left = i; k < 4; k++, left /= 26)
                        row->key.parent[k] = (char) ('a' + left % 26);
        }
}

static LedgerValues sum_of(uint32_t owner) {
        LedgerValues sum = {};

        for (size_t i = 0; i < n_rows; i++)
                if (rows[i].key.owner == owner)
                        ledger_values_add(&sum, &rows[i].values);
        return sum;
}

static size_t count(uint32_t owner, uint32_t flags) {
        size_t n = 0;

        for (size_t i = 0; i < n_rows; i++)
                n += rows[i].key.owner == owner && rows[i].key.flags == flags;
        return n;
}

static const LedgerRow *find(uint32_t owner, uint32_t flags) {
        for (size_t i = 0; i < n_rows; i++)
                if (rows[i].key.owner == owner && rows[i].key.flags == flags)
                        return &rows[i];
        ck_abort_msg("uid %u has no such row", owner);
}

static void coarsen(void) {
        ck_assert_int_eq(ledger_rows_coarsen(rows, &n_rows, &how), 0);
}

START_TEST(who_has_few_rows_keeps_them_beside_whoever_has_all_others) {
        add_letters(1000, 1, 64, 1);
        add_letters(STRANGER, 1, 65472, 1000);
        coarsen();
        ck_assert_uint_eq(count(1000, 0), 64);
        ck_assert_uint_eq(sum_of(1000).n_folded, 0);
        ck_assert_uint_le(count(STRANGER, 0), ledger_rows_share(STRANGER, how.max_rows));
        ck_assert_uint_eq(sum_of(STRANGER).exits, 65472);
        ck_assert_uint_eq(sum_of(STRANGER).sums[LEDGER_run_time_ns], 7 * 65472);
        /* Those that grew last are still there by name, and as many as fit. */
        ck_assert_uint_eq(count(STRANGER, 0) + 1, ledger_rows_share(STRANGER, how.max_rows));
        for (size_t i = 0; i < n_rows; i++)
                if (rows[i].key.owner == STRANGER && rows[i].key.flags == 0)
                        ck_assert_uint_ge(rows[i].values.grew_ns, 1000 + 65472 - 2048);
        ck_assert_uint_eq(find(STRANGER, LEDGER_NAMELESS)->values.n_folded, 65472 - 2047);
}
END_TEST

START_TEST(nothing_is_folded_that_fits) {
        add_letters(0, 1, 4096, 1);
        add_letters(STRANGER, 2, 2048, 1);
        coarsen();
        ck_assert_uint_eq(n_rows, 6144);
        ck_assert_uint_eq(sum_of(0).n_folded + sum_of(STRANGER).n_folded, 0);
}
END_TEST

/* First the pattern of the names, then the cgroup, then the owner. */
START_TEST(rows_lose_what_tells_them_apart_step_by_step) {
        const LedgerRow *row;

        how.max_rows = 16 * 10;
        add_numbers(STRANGER, 1, 30, 1);
        add_numbers(STRANGER, 2, 30, 1);
        coarsen();
        ck_assert_uint_le(n_rows, 10);
        ck_assert_uint_eq(count(STRANGER, LEDGER_NUMBERLESS), 2); /* one for each cgroup */
        row = find(STRANGER, LEDGER_NUMBERLESS);
        ck_assert_str_eq(row->key.thread, "worker-0");
        ck_assert_str_eq(row->key.process, "process");

        add_letters(STRANGER, 1, 20, 100);
        add_letters(STRANGER, 2, 20, 100);
        coarsen();
        ck_assert_uint_le(n_rows, 10);
        ck_assert_uint_eq(count(STRANGER, LEDGER_NAMELESS), 2);
        row = find(STRANGER, LEDGER_NAMELESS);
        ck_assert_str_eq(row->key.thread, "");
        ck_assert_uint_ne(row->key.cgroup, 0);

        for (unsigned i = 0; i < 40; i++)
                (void) add(STRANGER, 10 + i, 200 + i, "one");
        coarsen();
        ck_assert_uint_le(n_rows, 10);
        ck_assert_uint_eq(count(STRANGER, LEDGER_OVERFLOW), 1);
        ck_assert_uint_eq(find(STRANGER, LEDGER_OVERFLOW)->key.cgroup, 0);
        ck_assert_uint_eq(sum_of(STRANGER).exits, 140);
        /* Each of them counts once, however often what it is in was folded. */
        ck_assert_uint_eq(sum_of(STRANGER).n_folded + count(STRANGER, 0), 140);
}
END_TEST

/* Names stay, and nobody is told that any was lost. */
START_TEST(parents_are_forgotten_before_names) {
        LedgerLoss losses[LEDGER_MAX_LOSSES];
        const LedgerRow *row;
        size_t n_losses;

        how.max_rows = 16 * 30;
        add_parents(STRANGER, "storm", 200, 1);
        add_parents(STRANGER, "alone", 1, 1);
        add_letters(STRANGER, 1, 20, 1);
        coarsen();
        ck_assert_uint_eq(n_rows, 30);
        ck_assert_uint_eq(count(STRANGER, LEDGER_PARENTLESS), 1);
        row = find(STRANGER, LEDGER_PARENTLESS);
        ck_assert_str_eq(row->key.thread, "storm");
        ck_assert_str_eq(row->key.parent, "");
        ck_assert_uint_eq(row->values.exits, 200 - 8);
        ck_assert_uint_eq(row->values.grew_ns, 200 - 8); /* the latest keep theirs */
        ck_assert_uint_eq(sum_of(STRANGER).exits, 221);
        ck_assert_uint_eq(sum_of(STRANGER).n_folded, 0);
        for (size_t i = 0; i < n_rows; i++)
                if (strcmp(rows[i].key.thread, "alone") == 0)
                        ck_assert_str_eq(rows[i].key.parent, "aaaa");
        ck_assert_int_eq(ledger_rows_losses(rows, n_rows, losses, &n_losses), 0);
        ck_assert_uint_eq(n_losses, 0);
}
END_TEST

/* Each process of such a storm has a number, and its parent some other name. */
START_TEST(a_storm_of_names_and_parents_loses_its_numbers_alone) {
        how.max_rows = 16 * 10;
        for (unsigned i = 0; i < 100; i++) {
                char name[TASK_COMM_BYTES];

                (void) snprintf(name, sizeof(name), "worker-%u", i);
                add_parents(STRANGER, name, 2, i);
        }
        coarsen();
        ck_assert_uint_le(n_rows, 10);
        ck_assert_uint_eq(count(STRANGER, LEDGER_NUMBERLESS), 1);
        ck_assert_str_eq(find(STRANGER, LEDGER_NUMBERLESS)->key.thread, "worker-0");
        ck_assert_str_eq(find(STRANGER, LEDGER_NUMBERLESS)->key.parent, "");
        ck_assert_uint_eq(sum_of(STRANGER).exits, 200);
}
END_TEST

START_TEST(a_storm_of_parents_is_its_owners) {
        add_parents(1000, "quiet", 64, 1);
        add_parents(STRANGER, "storm", 65472, 1000);
        coarsen();
        ck_assert_uint_eq(count(1000, 0), 64);
        ck_assert_uint_eq(count(STRANGER, 0) + 1, ledger_rows_share(STRANGER, how.max_rows));
        ck_assert_uint_eq(sum_of(STRANGER).exits, 65472);
        ck_assert_uint_eq(sum_of(STRANGER).n_folded, 0);
}
END_TEST

START_TEST(a_folded_row_has_grown_when_its_members_did) {
        how.max_rows = 16 * 2;
        add_letters(STRANGER, 1, 10, 500);
        coarsen();
        ck_assert_uint_eq(n_rows, 2);
        ck_assert_uint_eq(find(STRANGER, LEDGER_NAMELESS)->values.grew_ns, 508);
        ck_assert_uint_eq(find(STRANGER, 0)->values.grew_ns, 509);
        coarsen();
        ck_assert_uint_eq(n_rows, 2);
        ck_assert_uint_eq(find(STRANGER, LEDGER_NAMELESS)->values.grew_ns, 508);
}
END_TEST

START_TEST(rows_that_have_not_grown_for_long_are_folded) {
        how.idle_since_ns = 5000;
        add_letters(STRANGER, 1, 2000, 1);   /* old */
        add_letters(STRANGER, 2, 100, 6000); /* young */
        add_letters(1000, 1, 500, 1);        /* old, and few */
        coarsen();
        ck_assert_uint_eq(count(1000, 0), 500);
        ck_assert_uint_eq(count(STRANGER, 0) + count(STRANGER, LEDGER_NAMELESS), 512);
        ck_assert_uint_eq(find(STRANGER, LEDGER_NAMELESS)->key.cgroup, 1);
        ck_assert_uint_lt(find(STRANGER, LEDGER_NAMELESS)->values.grew_ns, 5000);
        for (size_t i = 0, n = 0; i < n_rows; i++) {
                n += rows[i].key.owner == STRANGER && rows[i].key.cgroup == 2;
                if (i + 1 == n_rows)
                        ck_assert_uint_eq(n, 100);
        }
}
END_TEST

/* In a place of its own for each of 34,500 cgroups nothing is gained by forgetting names. */
START_TEST(cgroups_that_have_not_grown_for_longest_become_one) {
        for (unsigned i = 0; i < 34500; i++)
                (void) add(STRANGER, 1 + i, 1 + i, "one");
        add_letters(1000, 1, 64, 1);
        coarsen();
        ck_assert_uint_eq(count(1000, 0), 64);
        ck_assert_uint_le(n_rows, 64 + 2048);
        ck_assert_uint_ge(count(STRANGER, 0), 2046);
        for (size_t i = 0; i < n_rows; i++)
                if (rows[i].key.owner == STRANGER && rows[i].key.flags == 0)
                        ck_assert_uint_gt(rows[i].key.cgroup, 34500 - 2048);
        ck_assert_uint_eq(sum_of(STRANGER).exits, 34500);
}
END_TEST

static size_t long_path(void *userdata, uint64_t cgroup) {
        return 1024;
}

START_TEST(a_path_counts_by_its_length) {
        how.path_bytes = long_path;
        for (unsigned i = 0; i < 2000; i++)
                (void) add(STRANGER, 1 + i, 1 + i, "one");
        coarsen();
        /* 17 units each. */
        ck_assert_uint_le(count(STRANGER, 0), 2048 / 17);
        ck_assert_uint_ge(count(STRANGER, 0), 2048 / 17 - 1);
        ck_assert_uint_eq(sum_of(STRANGER).exits, 2000);
}
END_TEST

static bool is_of_seven(void *userdata, const LedgerKey *key) {
        return strchr(key->thread, '7') != NULL;
}

START_TEST(a_row_that_grows_elsewhere_stays) {
        how.max_rows = 16 * 2;
        how.is_elsewhere = is_of_seven;
        add_numbers(STRANGER, 1, 20, 1); /* of which two have a 7 */
        coarsen();
        ck_assert_uint_eq(count(STRANGER, 0), 2);
        ck_assert_uint_eq(count(STRANGER, LEDGER_OVERFLOW), 1);
        ck_assert_uint_eq(sum_of(STRANGER).exits, 20);
}
END_TEST

/* All have less than their share, and together more than there is room for. */
START_TEST(whoever_has_most_gives_way) {
        how.max_rows = 4096;
        for (unsigned i = 0; i < 20; i++)
                add_letters(2000 + i, 1, 250, 1);
        add_letters(1000, 1, 64, 1);
        coarsen();
        ck_assert_uint_le(n_rows, 4096);
        ck_assert_uint_ge(n_rows, 4000);
        ck_assert_uint_eq(count(1000, 0), 64);
        for (unsigned i = 0; i < 20; i++) {
                ck_assert_uint_ge(count(2000 + i, 0), 199);
                ck_assert_uint_eq(sum_of(2000 + i).exits, 250);
        }
}
END_TEST

START_TEST(owners_who_are_too_many_are_one_together) {
        LedgerLoss losses[LEDGER_MAX_LOSSES];
        uint64_t exits = 0;
        size_t n;

        how.max_rows = 100;
        for (unsigned i = 0; i < 300; i++)
                add_letters(3000 + i, 1, 2, i);
        coarsen();
        ck_assert_uint_le(n_rows, 100);
        for (size_t i = 0; i < n_rows; i++)
                exits += rows[i].values.exits;
        ck_assert_uint_eq(exits, 600);
        ck_assert_uint_eq(count(LEDGER_OTHERS, LEDGER_OVERFLOW), 1);
        ck_assert_int_eq(ledger_rows_losses(rows, n_rows, losses, &n), 0);
        ck_assert_uint_eq(n, LEDGER_MAX_LOSSES);
        ck_assert_uint_eq(losses[0].owner, LEDGER_OTHERS);
        exits = 0;
        for (size_t i = 0; i < n; i++)
                exits += losses[i].n_folded;
        ck_assert_uint_eq(exits, 600);
}
END_TEST

START_TEST(losses_are_told_of_whom_they_are) {
        LedgerLoss losses[LEDGER_MAX_LOSSES];
        size_t n;

        add_letters(1000, 1, 64, 1);
        add_letters(STRANGER, 1, 3000, 1000);
        add(1001, 1, 77, "")->key.flags = LEDGER_OVERFLOW;
        rows[n_rows - 1].values.n_overflow = 5;
        coarsen();
        ck_assert_int_eq(ledger_rows_losses(rows, n_rows, losses, &n), 0);
        ck_assert_uint_eq(n, 2);
        ck_assert_uint_eq(losses[0].owner, STRANGER);
        ck_assert_uint_eq(losses[0].n_folded, 3000 - 2047);
        ck_assert_uint_eq(losses[0].grew_ns, 1000 + 3000 - 2047 - 1);
        ck_assert_uint_eq(losses[1].owner, 1001);
        ck_assert_uint_eq(losses[1].n_overflow, 5);
        ck_assert_uint_eq(losses[1].grew_ns, 77);
}
END_TEST

/* That of ctprof is told apart from what else its owner does. */
START_TEST(rows_of_our_own_stay_apart) {
        how.max_rows = 16 * 2;
        for (unsigned i = 0; i < 20; i++) {
                char name[TASK_COMM_BYTES];

                (void) snprintf(name, sizeof(name), "own%u", i);
                add(STRANGER, i, 1, name)->key.flags = i % 2 ? LEDGER_OF_SELF : 0;
        }
        coarsen();
        ck_assert_uint_eq(n_rows, 2);
        ck_assert_uint_eq(find(STRANGER, LEDGER_OVERFLOW | LEDGER_OF_SELF)->values.exits, 10);
        ck_assert_uint_eq(find(STRANGER, LEDGER_OVERFLOW)->values.exits, 10);
}
END_TEST

static LedgerMark mark_of(uint64_t run_ns, bool is_young) {
        LedgerMark mark = { .is_added = 1, .is_young = is_young, .accounted = 1, .lives_ns = 70 };

        mark.sums[LEDGER_run_time_ns] = run_ns;
        mark.sums[_LEDGER_SUM_MAX - 1] = 3;
        return mark;
}

START_TEST(who_lives_is_taken_out_of_a_row) {
        LedgerValues values = { .exits = 2,
                                .accounted = 2,
                                .lives_ns = 100,
                                .young = 1,
                                .young_run_ns = 40,
                                .born_ns = 1,
                                .grew_ns = 9 };
        LedgerMark mark = mark_of(40, true), other = mark_of(10, false);

        values.sums[LEDGER_run_time_ns] = 50;
        values.sums[_LEDGER_SUM_MAX - 1] = 6;
        ck_assert(!ledger_values_are_none(&values));
        ck_assert(ledger_values_take_out(&values, &mark));
        ck_assert_uint_eq(values.exits, 1);
        ck_assert_uint_eq(values.accounted, 1);
        ck_assert_uint_eq(values.lives_ns, 30);
        ck_assert_uint_eq(values.young, 0);
        ck_assert_uint_eq(values.young_run_ns, 0);
        ck_assert_uint_eq(values.sums[LEDGER_run_time_ns], 10);
        ck_assert_uint_eq(values.sums[_LEDGER_SUM_MAX - 1], 3);

        /* It lived for longer than all that are left. */
        ck_assert(!ledger_values_take_out(&values, &other));
        ck_assert_uint_eq(values.sums[LEDGER_run_time_ns], 10);
        other.lives_ns = 30;
        other.sums[LEDGER_run_time_ns] = 11;
        ck_assert(!ledger_values_take_out(&values, &other));
        other.sums[LEDGER_run_time_ns] = 10;
        ck_assert(ledger_values_take_out(&values, &other));
        ck_assert(ledger_values_are_none(&values));
        ck_assert(!ledger_values_take_out(&values, &other));
}
END_TEST

START_TEST(a_key_has_coarser_ones) {
        static const struct {
                const char *process, *thread;
                uint64_t cgroup;
                uint32_t flags, owner;
        } steps[] = {
                { "w12", "io", 5, LEDGER_PARENTLESS, 7 },
                { "w0", "io", 5, LEDGER_NUMBERLESS, 7 },
                { "", "", 5, LEDGER_NAMELESS, 7 },
                { "", "", 0, LEDGER_OVERFLOW, 7 },
                { "", "", 0, LEDGER_OVERFLOW, LEDGER_OTHERS },
        };
        LedgerKey key = { .process = "w12", .thread = "io", .parent = "sh9", .cgroup = 5 };
        LedgerKey plain = { .process = "w", .thread = "io", .cgroup = 5, .owner = 7 };

        key.owner = 7;

        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                ck_assert(ledger_key_coarsen(&key));
                ck_assert_str_eq(key.process, steps[i].process);
                ck_assert_str_eq(key.thread, steps[i].thread);
                ck_assert_str_eq(key.parent, "");
                ck_assert_uint_eq(key.cgroup, steps[i].cgroup);
                ck_assert_uint_eq(key.flags, steps[i].flags);
                ck_assert_uint_eq(key.owner, steps[i].owner);
        }
        ck_assert(!ledger_key_coarsen(&key));
        ck_assert(ledger_key_coarsen(&plain));
        ck_assert_uint_eq(plain.flags, LEDGER_PARENTLESS);
        ck_assert(ledger_key_coarsen(&plain)); /* there are no numbers to forget */
        ck_assert_uint_eq(plain.flags, LEDGER_NAMELESS);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("ledger-rows");
        TCase *tcase = tcase_create("rows");

        tcase_add_checked_fixture(tcase, setup, NULL);
        tcase_set_timeout(tcase, 60);
        tcase_add_test(tcase, who_has_few_rows_keeps_them_beside_whoever_has_all_others);
        tcase_add_test(tcase, nothing_is_folded_that_fits);
        tcase_add_test(tcase, who_lives_is_taken_out_of_a_row);
        tcase_add_test(tcase, a_key_has_coarser_ones);
        tcase_add_test(tcase, rows_lose_what_tells_them_apart_step_by_step);
        tcase_add_test(tcase, parents_are_forgotten_before_names);
        tcase_add_test(tcase, a_storm_of_names_and_parents_loses_its_numbers_alone);
        tcase_add_test(tcase, a_storm_of_parents_is_its_owners);
        tcase_add_test(tcase, a_folded_row_has_grown_when_its_members_did);
        tcase_add_test(tcase, rows_that_have_not_grown_for_long_are_folded);
        tcase_add_test(tcase, cgroups_that_have_not_grown_for_longest_become_one);
        tcase_add_test(tcase, a_path_counts_by_its_length);
        tcase_add_test(tcase, a_row_that_grows_elsewhere_stays);
        tcase_add_test(tcase, whoever_has_most_gives_way);
        tcase_add_test(tcase, owners_who_are_too_many_are_one_together);
        tcase_add_test(tcase, losses_are_told_of_whom_they_are);
        tcase_add_test(tcase, rows_of_our_own_stay_apart);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
