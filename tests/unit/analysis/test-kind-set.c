/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/pairing/pairing.h"

#include "check-main.h"

static KindSet set_of(uint64_t first, uint64_t step, unsigned n, unsigned times) {
        KindSet set = { .n = 0 };

        for (unsigned i = 0; i < times; i++)
                for (unsigned k = 0; k < n; k++)
                        ck_assert_int_eq(kind_set_add(&set, first + k * step), 0);
        kind_set_settle(&set);
        return set;
}

START_TEST(each_kind_is_in_it_once) {
        KindSet set = set_of(UINT64_MAX - 99, 1, 100, 7);

        ck_assert_uint_eq(set.n, 100);
        for (unsigned i = 0; i < 100; i++)
                ck_assert_uint_eq(set.kinds[i], UINT64_MAX - 99 + i);
        ck_assert_uint_le(set.n_allocated, 256); /* repeated kinds do not count */
        kind_set_done(&set);
}
END_TEST

static const struct {
        unsigned n_a, n_b;
        uint64_t step_a, step_b;
        uint64_t shared;
} shared_rows[] = {
        { 0, 0, 1, 1, 0 }, { 5, 0, 1, 1, 0 },  { 0, 5, 1, 1, 0 },
        { 5, 5, 1, 1, 5 }, { 10, 5, 1, 2, 5 }, { 6, 4, 2, 3, 2 },
};

START_TEST(shared_are_those_in_both) {
        KindSet a = set_of(0, shared_rows[_i].step_a, shared_rows[_i].n_a, 1);
        KindSet b = set_of(0, shared_rows[_i].step_b, shared_rows[_i].n_b, 2);

        ck_assert_uint_eq(kind_set_shared(&a, &b), shared_rows[_i].shared);
        ck_assert_uint_eq(kind_set_shared(&b, &a), shared_rows[_i].shared);
        kind_set_done(&a);
        kind_set_done(&b);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("kind-set");
        TCase *sets = tcase_create("sets");

        tcase_add_test(sets, each_kind_is_in_it_once);
        tcase_add_loop_test(sets, shared_are_those_in_both, 0, ELEMENTSOF(shared_rows));
        suite_add_tcase(suite, sets);
        return check_main(suite);
}
