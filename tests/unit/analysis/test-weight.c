/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <math.h>

#include "analysis/account/weight.h"

#define S(seconds) amount_of((seconds) *NSEC_PER_SEC)
#define MIB(n) amount_of((n) *UINT64_C(1024) * 1024)
#define UNKNOWN ((Amount){ .known = false })

/* Of time and storage. */
#define SHARES(has_time_, has_storage_, time_, storage_)                                 \
        {                                                                                \
                .has_time = (has_time_), .has_storage = (has_storage_), .time = (time_), \
                .storage = (storage_),                                                   \
        }

static void expect_near(double value, double wanted) {
        ck_assert_msg(fabs(value - wanted) < 1e-9, "%g, not %g", value, wanted);
}

/* 4 CPUs, 10 seconds; the disks moved 400 MiB. */
static WeightScale usual_scale(void) {
        const HostUse host = { .n_cpus = amount_of(4),
                               .disk_read_bytes = MIB(300),
                               .disk_written_bytes = MIB(100) };

        return weight_scale_of(&host, S(10));
}

static const struct {
        Account account;
        bool has_time, has_storage;
        double time, storage;
} share_rows[] = {
        { { .running_ns = { true, 4 * NSEC_PER_SEC },
            .waiting_ns = { true, 2 * NSEC_PER_SEC },
            .storage_ns = { true, 2 * NSEC_PER_SEC },
            .read_bytes = { true, 80 * 1048576 },
            .write_bytes = { true, 20 * 1048576 } },
          true,
          true,
          0.2,
          0.25 },
        { { .waiting_ns = { true, 2 * NSEC_PER_SEC } }, true, false, 0.05, 0 },
        { { .write_bytes = { true, 800 * 1048576 } }, false, true, 0, 1 }, /* at most all */
        { { .alive_ns = { true, 2 * NSEC_PER_SEC } }, false, false, 0, 0 },
};

START_TEST(shares_are_of_the_host) {
        WeightScale scale = usual_scale();
        Shares shares = shares_of(&scale, &share_rows[_i].account);

        ck_assert(scale.known);
        ck_assert_int_eq(shares.has_time, share_rows[_i].has_time);
        ck_assert_int_eq(shares.has_storage, share_rows[_i].has_storage);
        expect_near(shares.time, share_rows[_i].time);
        expect_near(shares.storage, share_rows[_i].storage);
}
END_TEST

/* A host of 6000 MiB, of which 60 MiB a minute are a whole share: 10 MiB in 10 seconds. */
START_TEST(memory_that_grows_is_a_share) {
        static const struct {
                Account account;
                bool has;
                double memory;
        } rows[] = {
                { { .rss_growth_bytes = { true, 5 << 20 } }, true, 0.5 },
                { { .rss_growth_bytes = { true, 5 << 20 }, .heap_growth_bytes = { true, 6 << 20 } },
                  true,
                  0.6 },
                { { .heap_growth_bytes = { true, 1 << 20 } }, true, 0.1 },
                { { .rss_growth_bytes = { true, 0 } }, true, 0 },
                { { .rss_growth_bytes = { true, 90 << 20 } }, true, 1 }, /* at most all */
                { { .rss_bytes = { true, 90 << 20 } }, false, 0 },       /* of no interval */
        };
        const HostUse host = { .n_cpus = amount_of(4), .memory_bytes = MIB(6000) };
        WeightScale scale = weight_scale_of(&host, S(10));
        Shares shares = shares_of(&scale, &rows[_i].account);
        double weight = 0;

        ck_assert_int_eq(shares.has_memory, rows[_i].has);
        expect_near(shares.memory, rows[_i].memory);
        ck_assert_int_eq(weight_between(NULL, &shares, &weight), rows[_i].has);
        expect_near(weight, rows[_i].memory);

        scale = weight_scale_of(&(const HostUse){ .n_cpus = amount_of(4) }, S(10));
        ck_assert(!shares_of(&scale, &rows[_i].account).has_memory);
}
END_TEST

START_TEST(idle_disks_do_not_make_a_byte_heavy) {
        const HostUse host = { .n_cpus = amount_of(1), .disk_written_bytes = amount_of(10) };
        const Account account = { .write_bytes = amount_of(10) };
        WeightScale scale = weight_scale_of(&host, S(2));

        /* 20 MiB in 2 seconds */
        expect_near(shares_of(&scale, &account).storage, 10.0 / (20 * 1048576));
}
END_TEST

START_TEST(without_cpus_or_time_there_is_only_an_order) {
        const HostUse host = { .n_cpus = amount_of(4) }, no_cpus = { .n_cpus = amount_of(0) };
        const Account account = { .running_ns = S(3) };
        const struct {
                const HostUse *host;
                Amount elapsed_ns;
        } rows[] = { { &host, UNKNOWN },
                     { &no_cpus, S(1) },
                     { &host, amount_of(0) },
                     { &(const HostUse){ .cpu_used_ns = S(1) }, S(1) } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                WeightScale scale = weight_scale_of(rows[i].host, rows[i].elapsed_ns);

                ck_assert(!scale.known);
                expect_near(shares_of(&scale, &account).time, 3);
        }
}
END_TEST

START_TEST(the_larger_share_is_the_weight) {
        const Shares time = SHARES(true, true, 0.5, 0.25), storage = SHARES(true, true, 0.1, 0.25);
        const Shares one = { .has_time = true, .time = 0.01 }, none = {};
        double weight = 7;

        ck_assert(weight_between(NULL, &time, &weight));
        expect_near(weight, 0.5);
        ck_assert(weight_between(NULL, &storage, &weight));
        expect_near(weight, 0.25);
        ck_assert(weight_between(NULL, &one, &weight));
        expect_near(weight, 0.01);
        ck_assert(!weight_between(NULL, &none, &weight));
}
END_TEST

static const struct {
        Shares a, b;
        bool has;
        double weight;
} move_rows[] = {
        /* A web server whose log was all the storage there was lost half its CPU. */
        { SHARES(true, true, 0.6, 1), SHARES(true, true, 0.3, 1), true, -0.3 },
        { SHARES(true, true, 0.2, 0.1), SHARES(true, true, 0.3, 0.9), true, 0.8 },
        { SHARES(true, false, 0.2, 0), SHARES(true, true, 0.3, 0.9), true, 0.1 },
        { SHARES(false, true, 0, 0.5), SHARES(true, true, 0.3, 0.25), true, -0.25 },
        { SHARES(true, false, 0.2, 0), SHARES(false, true, 0, 0.9), false, 0 },
        { SHARES(false, false, 0, 0), SHARES(false, false, 0, 0), false, 0 },
        { SHARES(true, true, 0.2, 0.2), SHARES(true, true, 0.2, 0.2), true, 0 },
        /* It began to leak. */
        { { .has_time = true, .time = 0.1, .has_memory = true, .memory = 0 },
          { .has_time = true, .time = 0.2, .has_memory = true, .memory = 0.5 },
          true,
          0.5 },
        { { .has_memory = true, .memory = 0.5 }, SHARES(true, true, 0.2, 0.2), false, 0 },
};

START_TEST(of_two_sides_the_share_that_moved_more_counts) {
        double weight = 0;

        ck_assert_int_eq(weight_between(&move_rows[_i].a, &move_rows[_i].b, &weight),
                         move_rows[_i].has);
        expect_near(weight, move_rows[_i].weight);
}
END_TEST

START_TEST(a_side_without_threads_had_no_share) {
        WeightScale scale = usual_scale();
        const Account account = { .running_ns = S(10) };
        Shares there = shares_of(&scale, &account), none = shares_of(&scale, NULL);
        double weight = 0;

        ck_assert(weight_between(&none, &there, &weight));
        expect_near(weight, 0.25);
        ck_assert(weight_between(&there, &none, &weight));
        expect_near(weight, -0.25);
        /* Whatever is known of the host that did not have it. */
        there.has_memory = true;
        there.memory = 0.5;
        ck_assert(weight_between(&none, &there, &weight));
        expect_near(weight, 0.5);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("weight");
        TCase *shares = tcase_create("shares"), *weights = tcase_create("weights");

        tcase_add_loop_test(shares, shares_are_of_the_host, 0, ELEMENTSOF(share_rows));
        tcase_add_loop_test(shares, memory_that_grows_is_a_share, 0, 6);
        tcase_add_test(shares, idle_disks_do_not_make_a_byte_heavy);
        tcase_add_test(shares, without_cpus_or_time_there_is_only_an_order);
        suite_add_tcase(suite, shares);
        tcase_add_test(weights, the_larger_share_is_the_weight);
        tcase_add_loop_test(weights, of_two_sides_the_share_that_moved_more_counts, 0,
                            ELEMENTSOF(move_rows));
        tcase_add_test(weights, a_side_without_threads_had_no_share);
        suite_add_tcase(suite, weights);
        return check_main(suite);
}
